#include "sim/schedule/gap_schedule.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>

#include "sim/schedule/order_builder.h"

namespace plimsoll {
namespace {

constexpr double kRounding = 1e-9;
constexpr std::uint32_t kFarthest = 64;  ///< ranks over which arrivals are foreseen
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;

/// Ranks that look for work, each at a time; equal times by rank.
class Wakes {
 public:
  void add(std::int64_t time, std::uint32_t rank) { queue_.push({time, rank}); }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  std::pair<std::int64_t, std::uint32_t> take() {
    const auto first = queue_.top();
    queue_.pop();
    return first;
  }

 private:
  using Wake = std::pair<std::int64_t, std::uint32_t>;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> queue_;
};

class GapWalk {
 public:
  GapWalk(const StageCosts& costs, std::uint32_t micro_batches, const MemoryRule& memory, const GapChoices& choices)
      : costs_(costs), count_(micro_batches), memory_(memory), choices_(choices), ranks_(costs.stages.size()) {
    schedule_.orders.resize(ranks_.size());
    for (Rank& rank : ranks_) {
      rank.forward_at.assign(count_, kNever);
      rank.gradient_at.assign(count_, kNever);
    }
    std::fill(ranks_.front().forward_at.begin(), ranks_.front().forward_at.end(), 0);
  }

  GapSchedule run() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) wakes_.add(0, rank);
    while (!wakes_.empty()) {
      const auto [time, rank] = wakes_.take();
      if (ranks_[rank].free <= time && ranks_[rank].weights < count_) decide(rank, time);
    }
    for (const Rank& rank : ranks_) {
      const Ticks span(rank.free - rank.begin);
      schedule_.longest = std::max(schedule_.longest, span);
      schedule_.together += span;
    }
    return std::move(schedule_);
  }

 private:
  struct Rank {
    std::uint32_t forwards = 0, gradients = 0, weights = 0;  ///< done
    double held = 0;
    std::int64_t begin = kNever, free = 0;
    std::vector<std::int64_t> forward_at, gradient_at;  ///< when the data of each micro-batch arrive; kNever: not known
  };

  [[nodiscard]] const StageCost& cost(std::uint32_t rank) const { return costs_.stages[rank]; }

  /// A time before which the data of the rank's next forward cannot be there.
  [[nodiscard]] std::int64_t forward_bound(std::uint32_t rank) const {
    const std::uint32_t wanted = ranks_[rank].forwards;
    std::int64_t path = 0, bound = 0;
    for (std::uint32_t at = rank;; --at) {
      if (ranks_[at].forward_at[wanted] != kNever) return std::max(bound, ranks_[at].forward_at[wanted] + path);
      const Rank& source = ranks_[at - 1];
      const std::int64_t queued = cost(at - 1).forward.count * (wanted - source.forwards);  // those before it
      path += cost(at - 1).forward.count + cost(at - 1).hop.count;
      bound = std::max(bound, source.free + queued + path);
      if (rank - at == kFarthest) return bound;
    }
  }

  [[nodiscard]] std::int64_t gradient_bound(std::uint32_t rank) const {
    const std::uint32_t wanted = ranks_[rank].gradients;
    std::int64_t path = 0, bound = 0;
    for (std::uint32_t at = rank;; ++at) {
      if (ranks_[at].gradient_at[wanted] != kNever) return std::max(bound, ranks_[at].gradient_at[wanted] + path);
      if (at + 1 == ranks_.size()) return std::max(bound, ranks_[at].free + path);  // its own forward comes first
      const Rank& source = ranks_[at + 1];
      const std::int64_t queued = cost(at + 1).input_gradient.count * (wanted - source.gradients);
      path += cost(at + 1).input_gradient.count + cost(at).hop.count;
      bound = std::max(bound, source.free + queued + path);
      if (at - rank == kFarthest) return bound;
    }
  }

  /// What a rank does next: a work that can run now, or the time until which it waits for one.
  struct Next {
    std::optional<PipelineWork> work;
    std::int64_t until = kNever;
  };

  [[nodiscard]] Next want(std::uint32_t index, std::int64_t time) const {
    using enum PipelineWork;
    const Rank& rank = ranks_[index];
    if (rank.gradients == count_) return {kWeightGradient};
    const bool has_gradient = rank.gradients < rank.forwards;
    const bool can_gradient = has_gradient && rank.gradient_at[rank.gradients] <= time;
    const bool wants_gradient = rank.forwards == count_ || rank.forwards - rank.gradients >= choices_.ahead[index] ||
                                (choices_.gradient_first && can_gradient);
    if (wants_gradient) return can_gradient ? Next{kInputGradient} : Next{{}, gradient_bound(index)};
    if (rank.held + 1 > memory_.cap + kRounding) {
      if (rank.weights < rank.gradients) return {kWeightGradient};
      return can_gradient ? Next{kInputGradient} : Next{{}, gradient_bound(index)};
    }
    if (rank.forward_at[rank.forwards] <= time) return {kForward};
    if (can_gradient) return {kInputGradient};
    const std::int64_t until = forward_bound(index);
    return {{}, has_gradient ? std::min(until, gradient_bound(index)) : until};
  }

  void decide(std::uint32_t index, std::int64_t time) {
    const Next next = want(index, time);
    if (next.work) return begin(index, *next.work, time);
    const Rank& rank = ranks_[index];
    const auto length = static_cast<double>(cost(index).weight_gradient.count);
    const double lateness = count_ - rank.gradients > choices_.prompt ? choices_.lateness : 0;
    const bool fits = static_cast<double>(next.until - time) >= (1 - lateness) * length;
    if (rank.weights < rank.gradients && fits) return begin(index, PipelineWork::kWeightGradient, time);
    if (next.until > time && next.until < kNever) wakes_.add(next.until, index);  // else what it waits for wakes it
  }

  void begin(std::uint32_t index, PipelineWork work, std::int64_t time) {
    Rank& rank = ranks_[index];
    rank.begin = std::min(rank.begin, time);
    if (work == PipelineWork::kForward) begin_forward(index, time);
    if (work == PipelineWork::kInputGradient) begin_gradient(index, time);
    if (work == PipelineWork::kWeightGradient) {
      rank.free = time + cost(index).weight_gradient.count;
      rank.held -= memory_.kept_for_weights;
      OrderBuilder(schedule_.orders[index]).weight(index, rank.weights++);
    }
    wakes_.add(rank.free, index);
  }

  void begin_forward(std::uint32_t index, std::int64_t time) {
    Rank& rank = ranks_[index];
    rank.free = time + cost(index).forward.count;
    rank.held += 1;
    if (index + 1 == ranks_.size()) {
      rank.gradient_at[rank.forwards] = rank.free;
    } else {
      arrive(index + 1, ranks_[index + 1].forward_at[rank.forwards], rank.free + cost(index).hop.count);
    }
    OrderBuilder(schedule_.orders[index]).forward(index, rank.forwards++);
  }

  void begin_gradient(std::uint32_t index, std::int64_t time) {
    Rank& rank = ranks_[index];
    rank.free = time + cost(index).input_gradient.count;
    rank.held -= 1 - memory_.kept_for_weights;
    if (index > 0) {
      arrive(index - 1, ranks_[index - 1].gradient_at[rank.gradients], rank.free + cost(index - 1).hop.count);
    }
    OrderBuilder(schedule_.orders[index]).input(index, rank.gradients++);
  }

  void arrive(std::uint32_t index, std::int64_t& slot, std::int64_t time) {
    slot = time;
    wakes_.add(time, index);
  }

  const StageCosts& costs_;
  std::uint32_t count_;
  const MemoryRule& memory_;
  const GapChoices& choices_;
  std::vector<Rank> ranks_;
  Wakes wakes_;
  GapSchedule schedule_;
};

}  // namespace

GapSchedule gap_schedule(const StageCosts& costs, std::uint32_t micro_batches, const MemoryRule& memory,
                         const GapChoices& choices) {
  return GapWalk(costs, micro_batches, memory, choices).run();
}

}  // namespace plimsoll
