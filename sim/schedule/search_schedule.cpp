#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "core/schedule/verify_schedule.h"
#include "sim/schedule/gap_schedule.h"
#include "sim/schedule/order_builder.h"
#include "sim/schedule/schedule_makers.h"
#include "sim/schedule/stage_memory.h"

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

/// Forwards that a rank can do, one after another, before its first input gradient can be there; rounded down or up.
std::vector<std::uint32_t> forwards_until_gradient(const StageCosts& costs, bool up) {
  std::vector<std::uint32_t> ahead(costs.stages.size());
  Ticks there_and_back;
  for (std::size_t rank = ahead.size(); rank-- > 0;) {
    const StageCost& cost = costs.stages[rank];
    there_and_back += cost.forward;
    const double forwards =
        static_cast<double>(there_and_back.count) / static_cast<double>(std::max<std::int64_t>(1, cost.forward.count));
    ahead[rank] = static_cast<std::uint32_t>(std::clamp(up ? std::ceil(forwards) : std::floor(forwards), 1.0, 1e9));
    if (rank > 0) there_and_back += cost.input_gradient + costs.stages[rank - 1].hop * 2;
  }
  return ahead;
}

/// Tries choices for gap_schedule and keeps the best: the shortest longest span, then the shortest spans together.
class GapSearch {
 public:
  GapSearch(const StageCosts& costs, std::uint32_t micro_batches, const MemoryRule& memory)
      : costs_(costs), micro_batches_(micro_batches), memory_(memory) {
    const std::uint64_t ops = std::uint64_t{3} * micro_batches * costs.stages.size();
    left_ = std::max<std::uint64_t>(kLeastLooks, kMostOps / std::max<std::uint64_t>(1, ops));
  }

  /// Looks at one; true when it is the best so far.
  bool look(GapChoices choices) {
    const auto most = static_cast<std::uint32_t>(std::min<double>(std::floor(memory_.cap), micro_batches_));
    for (std::uint32_t& ahead : choices.ahead) ahead = std::clamp(ahead, 1U, std::max(1U, most));
    if (left_ == 0 || (best_ && choices == choices_)) return false;
    --left_;
    GapSchedule schedule = gap_schedule(costs_, micro_batches_, memory_, choices);
    if (best_ && std::pair(schedule.longest, schedule.together) >= std::pair(best_->longest, best_->together))
      return false;
    best_ = std::move(schedule);
    choices_ = std::move(choices);
    return true;
  }

  /// Changes one rank's forwards ahead at a time for as long as that helps.
  void climb() {
    for (bool better = true; better && left_ > 0;) {
      better = false;
      for (std::size_t rank = 0; rank < choices_.ahead.size(); ++rank) {
        for (const int change : {1, -1}) {
          GapChoices other = choices_;
          other.ahead[rank] += static_cast<std::uint32_t>(change);
          if (other.ahead[rank] > 0 && look(std::move(other))) better = true;
        }
      }
    }
  }

  GapSchedule take() { return std::move(*best_); }

 private:
  static constexpr std::uint64_t kMostOps = 10'000'000;  ///< laid out in all looks together
  static constexpr std::uint64_t kLeastLooks = 32;

  const StageCosts& costs_;
  std::uint32_t micro_batches_;
  MemoryRule memory_;
  std::uint64_t left_ = 0;
  GapChoices choices_;
  std::optional<GapSchedule> best_;
};

void offer_gaps(Best& best, const ScheduleRequest& request, const StageCosts& costs, const MemoryRule& memory) {
  GapSearch search(costs, request.micro_batches, memory);
  for (const bool up : {false, true}) {
    for (const double lateness : {0.0, 0.1, 0.5, 1.0}) {
      for (const std::uint32_t prompt : {0U, 2U}) {
        for (const bool gradient_first : {false, true}) {
          search.look({forwards_until_gradient(costs, up), lateness, prompt, gradient_first});
        }
      }
    }
  }
  search.climb();
  PipelineSchedule candidate = empty_schedule(request, request.ranks);
  candidate.orders = search.take().orders;
  best.offer(std::move(candidate));
}

void offer_known(Best& best, const ScheduleRequest& request) {
  for (const auto make : {make_1f1b, make_zb_h1, make_zb_h2, make_gpipe}) {
    if (auto known = make(request)) best.offer(std::move(*known));
  }
}

}  // namespace

/// The best of the list schedules that were tried under the memory cap, and of the published ones that fit.
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
  offer_gaps(best, request, *costs, memory);
  offer_known(best, request);
  auto found = best.take();
  if (!found) return make_naive(request);  // one micro-batch at a time fits every cap of 1 or more
  return std::move(*found);
}

}  // namespace plimsoll
