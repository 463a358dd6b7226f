#include "sim/schedule/time_schedule.h"

#include <algorithm>

#include "core/schedule/order_walk.h"

namespace plimsoll {
namespace {

/// The state of one timing run.
class Clock {
 public:
  Clock(const PipelineSchedule& schedule, const StageCosts& costs)
      : schedule_(schedule),
        costs_(costs),
        walk_(schedule),
        forward_end_(schedule.cells()),
        gradient_end_(schedule.cells()),
        free_(schedule.ranks()) {
    for (const auto& order : schedule.orders) timing_.ops.emplace_back(order.size());
  }

  ScheduleTiming run() {
    walk_.run([this](RankId rank, std::size_t index) { visit(rank, index); });
    for (std::size_t rank = 0; rank < schedule_.ranks(); ++rank) sum_up(timing_.ops[rank], schedule_.orders[rank]);
    return std::move(timing_);
  }

 private:
  void visit(RankId rank, std::size_t index) {
    const auto& order = schedule_.orders[rank.index];
    const PipelineOp& op = order[index];
    if (index > 0 && order[index - 1].with_next) return;  // ran with its partner
    Ticks begin = std::max(free_[rank.index], ready(op, rank));
    Ticks took = costs_.of(op);
    if (op.with_next) {
      begin = std::max(begin, ready(order[index + 1], rank));
      took = costs_.of_pair(op, order[index + 1]);
      note(rank, index + 1, begin, begin + took);
    }
    note(rank, index, begin, begin + took);
    free_[rank.index] = begin + took;
  }

  [[nodiscard]] Ticks ready(const PipelineOp& op, RankId rank) const {
    const std::size_t cell = schedule_.cell(op);
    if (op.work == PipelineWork::kForward) {
      if (op.stage.index == 0) return Ticks(0);
      const std::size_t before = cell - schedule_.micro_batches;
      return forward_end_[before] + hop(before, rank, op.stage.index - 1);
    }
    if (op.work == PipelineWork::kWeightGradient) return gradient_end_[cell];
    if (op.stage.index + 1 == schedule_.stages) return forward_end_[cell];
    const std::size_t after = cell + schedule_.micro_batches;
    return std::max(forward_end_[cell], gradient_end_[after] + hop(after, rank, op.stage.index));
  }

  [[nodiscard]] Ticks hop(std::size_t from_cell, RankId to, std::uint32_t lower_stage) const {
    return walk_.rank_of(from_cell) == to ? Ticks(0) : costs_.stages[lower_stage].hop;
  }

  void note(RankId rank, std::size_t index, Ticks begin, Ticks end) {
    const PipelineOp& op = schedule_.orders[rank.index][index];
    timing_.ops[rank.index][index] = {begin, end};
    if (op.work == PipelineWork::kForward) forward_end_[schedule_.cell(op)] = end;
    if (sends_gradient(op.work)) gradient_end_[schedule_.cell(op)] = end;
  }

  void sum_up(const std::vector<OpTime>& times, const std::vector<PipelineOp>& order) {
    Ticks busy;
    for (std::size_t i = 0; i < times.size(); ++i) {
      const bool second_of_pair = i > 0 && order[i - 1].with_next;
      if (!second_of_pair) busy += times[i].end - times[i].begin;
    }
    const Ticks end = times.empty() ? Ticks(0) : times.back().end;
    timing_.busy.push_back(busy);
    timing_.span.push_back(times.empty() ? Ticks(0) : end - times.front().begin);
    timing_.makespan = std::max(timing_.makespan, end);
  }

  const PipelineSchedule& schedule_;
  const StageCosts& costs_;
  OrderWalk walk_;
  std::vector<Ticks> forward_end_;
  std::vector<Ticks> gradient_end_;
  std::vector<Ticks> free_;
  ScheduleTiming timing_;
};

/// 1 − mean busy time ÷ whole, without the loss of digits that floating-point sums would bring.
double idle_share(const std::vector<Ticks>& busy, Ticks whole) {
  if (whole.count == 0 || busy.empty()) return 0;
  double idle = 0;
  for (const Ticks one : busy) idle += static_cast<double>((whole - one).count);
  return idle / (static_cast<double>(whole.count) * static_cast<double>(busy.size()));
}

}  // namespace

double ScheduleTiming::bubble_fraction() const { return idle_share(busy, makespan); }

double ScheduleTiming::bubble_rate() const {
  return span.empty() ? 0 : idle_share(busy, *std::max_element(span.begin(), span.end()));
}

ScheduleTiming time_schedule(const PipelineSchedule& schedule, const StageCosts& costs) {
  return Clock(schedule, costs).run();
}

}  // namespace plimsoll
