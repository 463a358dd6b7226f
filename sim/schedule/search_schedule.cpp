#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/schedule/verify_schedule.h"
#include "sim/schedule/order_builder.h"
#include "sim/schedule/schedule_makers.h"
#include "sim/schedule/stage_memory.h"
#include "sim/schedule/zero_bubble_greedy.h"

namespace plimsoll {
namespace {

constexpr double kRounding = 1e-9;

/// The best schedule seen so far: the shortest longest span of a rank, then the shortest makespan, then the first.
class Best {
 public:
  Best(const StageCosts& costs, double cap, double kept_for_weights)
      : costs_(costs), cap_(cap), kept_for_weights_(kept_for_weights) {}

  void offer(PipelineSchedule candidate) {
    if (!verify_schedule(candidate)) return;
    const ScheduleTiming timing = time_schedule(candidate, costs_);
    const auto peaks = peak_activations(candidate, timing, kept_for_weights_);
    if (*std::max_element(peaks.begin(), peaks.end()) > cap_ + kRounding) return;
    const Score score{*std::max_element(timing.span.begin(), timing.span.end()), timing.makespan};
    if (best_ && score >= score_) return;
    score_ = score;
    best_ = std::move(candidate);
  }

  std::optional<PipelineSchedule> take() { return std::move(best_); }

 private:
  using Score = std::tuple<Ticks, Ticks>;

  const StageCosts& costs_;
  double cap_;
  double kept_for_weights_;
  Score score_;
  std::optional<PipelineSchedule> best_;
};

Result<StageCosts> costs_of(const ScheduleRequest& request) {
  const PipelineShape shape{request.ranks, request.ranks, request.micro_batches};
  return request.stage_costs.empty() ? even_costs(request.costs, shape) : uneven_costs(request.stage_costs, shape);
}

void offer_greedy(Best& best, const ScheduleRequest& request, const StageCosts& costs, const MemoryRule& memory) {
  for (const bool late : {true, false}) {
    for (const bool gradient_first : {true, false}) {
      for (const bool fill : {true, false}) {
        PipelineSchedule candidate = empty_schedule(request, request.ranks);
        candidate.orders = zero_bubble_greedy(costs, request.micro_batches, memory, {late, gradient_first, fill});
        best.offer(std::move(candidate));
      }
    }
  }
}

void offer_known(Best& best, const ScheduleRequest& request) {
  for (const auto make : {make_1f1b, make_zb_h1, make_zb_h2, make_gpipe}) {
    if (auto known = make(request)) best.offer(std::move(*known));
  }
}

}  // namespace

/// The best of all orders that the greedy construction gives under the memory cap, and of the published ones that fit.
Result<PipelineSchedule> search_schedule(const ScheduleRequest& request) {
  const auto costs = costs_of(request);
  if (!costs) return fail(costs.error());
  const MemoryRule memory{request.memory_cap.value_or(request.micro_batches), request.kept_for_weights};
  if (memory.cap < 1) {
    return fail({.kind = ErrorKind::kInfeasible,
                 .what = fmt::format("nothing runs within activations of {} micro-batches", memory.cap),
                 .where = "--memory-cap",
                 .remedy = "a rank holds at least 1"});
  }
  Best best(*costs, memory.cap, request.kept_for_weights);
  offer_greedy(best, request, *costs, memory);
  offer_known(best, request);
  auto found = best.take();
  if (!found) return make_naive(request);  // one micro-batch at a time fits every cap of 1 or more
  return std::move(*found);
}

}  // namespace plimsoll
