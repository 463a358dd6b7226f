#include "sim/schedule/zero_bubble_greedy.h"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr double kRounding = 1e-9;  ///< sums of shares of a micro-batch are not exact

/// The construction under way. Rank and stage are the same number.
class Greedy {
 public:
  Greedy(const StageCosts& costs, std::uint32_t count, const MemoryRule& memory, const GreedyChoices& choices)
      : costs_(costs), count_(count), memory_(memory), choices_(choices), ranks_(costs.stages.size()) {
    for (Rank& rank : ranks_) {
      rank.forward_end.reserve(count);
      rank.input_end.reserve(count);
    }
  }

  std::vector<std::vector<PipelineOp>> run() {
    first_round();
    for (std::uint32_t i = 1; i < count_; ++i) {
      forward_round();
      input_round();
    }
    std::vector<std::vector<PipelineOp>> orders;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      while (ranks_[r].weights < count_) weight(r);
      orders.push_back(std::move(ranks_[r].order));
    }
    return orders;
  }

 private:
  struct Rank {
    std::vector<PipelineOp> order;
    std::vector<Ticks> forward_end;  ///< of each micro-batch so far
    std::vector<Ticks> input_end;
    std::uint32_t weights = 0;
    Ticks end;   ///< of its last op
    Ticks idle;  ///< since its first op
    double held = 0;

    [[nodiscard]] std::uint32_t forwards() const { return static_cast<std::uint32_t>(forward_end.size()); }
    [[nodiscard]] std::uint32_t inputs() const { return static_cast<std::uint32_t>(input_end.size()); }
    [[nodiscard]] bool has_weight_waiting() const { return weights < inputs(); }
  };

  [[nodiscard]] Ticks forward_cost(std::size_t r) const { return costs_.stages[r].forward; }
  [[nodiscard]] Ticks input_cost(std::size_t r) const { return costs_.stages[r].input_gradient; }
  [[nodiscard]] Ticks weight_cost(std::size_t r) const { return costs_.stages[r].weight_gradient; }
  [[nodiscard]] Ticks hop_after(std::size_t r) const { return costs_.stages[r].hop; }
  [[nodiscard]] bool has_room(double held) const { return held + 1 <= memory_.cap + kRounding; }

  [[nodiscard]] Ticks most_idle() const {
    Ticks most;
    for (const Rank& rank : ranks_) most = std::max(most, rank.idle);
    return most;
  }

  /// When what the rank's next forward needs is there.
  [[nodiscard]] Ticks activations_arrive(std::size_t r) const {
    return r == 0 ? Ticks(0) : ranks_[r - 1].forward_end[ranks_[r].forwards()] + hop_after(r - 1);
  }

  /// When what the rank's next input gradient needs from the next rank is there.
  [[nodiscard]] Ticks gradient_arrives(std::size_t r) const {
    return r + 1 == ranks_.size() ? Ticks(0) : ranks_[r + 1].input_end[ranks_[r].inputs()] + hop_after(r);
  }

  void append(std::size_t r, PipelineWork work, std::uint32_t micro_batch, Ticks arrival, Ticks cost) {
    Rank& rank = ranks_[r];
    const Ticks begin = std::max(rank.end, arrival);
    if (!rank.order.empty()) rank.idle += begin - rank.end;
    rank.end = begin + cost;
    rank.order.push_back({work, false, StageId(r), MicroBatchId(micro_batch)});
  }

  void forward(std::size_t r) {
    append(r, PipelineWork::kForward, ranks_[r].forwards(), activations_arrive(r), forward_cost(r));
    ranks_[r].forward_end.push_back(ranks_[r].end);
    ranks_[r].held += 1;
  }

  void input(std::size_t r) {
    append(r, PipelineWork::kInputGradient, ranks_[r].inputs(), gradient_arrives(r), input_cost(r));
    ranks_[r].input_end.push_back(ranks_[r].end);
    ranks_[r].held -= 1 - memory_.kept_for_weights;
  }

  void weight(std::size_t r) {
    append(r, PipelineWork::kWeightGradient, ranks_[r].weights++, Ticks(0), weight_cost(r));
    ranks_[r].held -= memory_.kept_for_weights;
  }

  /// Forwards until the first gradient can be there, and the first gradients.
  void first_round() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) forward(r);
    const std::vector<std::uint32_t> more = forwards_before_gradient();
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::uint32_t i = 0; i < more[r]; ++i) forward(r);
    }
    for (std::size_t r = ranks_.size(); r-- > 0;) input(r);
  }

  /// How many forwards each rank does between its first and its first gradient: fewer than the rank before, unless they
  /// are all there are.
  [[nodiscard]] std::vector<std::uint32_t> forwards_before_gradient() const {
    std::vector<std::uint32_t> more(ranks_.size(), 0);
    Ticks gradient = ranks_.back().end + input_cost(ranks_.size() - 1);
    for (std::size_t r = ranks_.size() - 1; r-- > 0;) {
      const Ticks arrival = gradient + hop_after(r);
      Ticks end = ranks_[r].end;
      while (1 + more[r] < count_ && has_room(ranks_[r].held + more[r])) {
        if (choices_.late_first_gradient ? end + forward_cost(r) > arrival : end >= arrival) break;
        end += forward_cost(r);
        ++more[r];
      }
      gradient = std::max(end, arrival) + input_cost(r);
    }
    for (std::size_t r = 1; r < ranks_.size(); ++r) {
      while (more[r] > 0 && more[r] >= more[r - 1] && 1 + more[r] < count_) --more[r];
    }
    return more;
  }

  void forward_round() {
    std::vector<bool> wanted(ranks_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) wanted[r] = ranks_[r].forwards() < count_ && !waits_for_next(r);
    for (std::size_t r = ranks_.size() - 1; r-- > 0;) wanted[r] = wanted[r] && wanted[r + 1];
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (!wanted[r]) continue;
      while (!has_room(ranks_[r].held) && ranks_[r].has_weight_waiting()) weight(r);
      if (r > 0) fill_gap(r, activations_arrive(r));
      forward(r);
    }
  }

  /// True when the rank is two forwards ahead of the next one and nothing is lost when it leaves this one out.
  [[nodiscard]] bool waits_for_next(std::size_t r) const {
    if (!choices_.gradient_first || r + 1 == ranks_.size()) return false;
    const Rank& rank = ranks_[r];
    const Rank& next = ranks_[r + 1];
    if (rank.forwards() < next.forwards() + 2) return false;
    const Ticks next_done = next.end + forward_cost(r + 1) + input_cost(r + 1) + hop_after(r);
    if (rank.end >= next_done) return true;
    double held = rank.held;
    Ticks end = rank.end + forward_cost(r);
    for (std::uint32_t w = rank.weights; !has_room(held) && w < rank.inputs(); ++w) {
      held -= memory_.kept_for_weights;
      end += weight_cost(r);
    }
    return end > next_done && next_done - rank.end <= most_idle() - rank.idle;
  }

  void input_round() {
    for (std::size_t r = ranks_.size(); r-- > 0;) {
      if (r + 1 < ranks_.size()) fill_gap(r, gradient_arrives(r));
      const bool only_gradients_left = r == 0 && ranks_[r].forwards() == count_;
      while (only_gradients_left && ranks_[r].has_weight_waiting()) weight(r);
      input(r);
    }
  }

  /// Weight gradients into the time until `arrival`: those that end by then, and one more when the rank can afford it.
  void fill_gap(std::size_t r, Ticks arrival) {
    const Rank& rank = ranks_[r];
    while (rank.has_weight_waiting() && rank.end + weight_cost(r) <= arrival) weight(r);
    if (!rank.has_weight_waiting() || rank.end >= arrival) return;
    const bool harmless = arrival - rank.end <= most_idle() - rank.idle;
    if (!harmless || choices_.fill_small_gaps) weight(r);
  }

  const StageCosts& costs_;
  std::uint32_t count_;
  MemoryRule memory_;
  GreedyChoices choices_;
  std::vector<Rank> ranks_;
};

}  // namespace

std::vector<std::vector<PipelineOp>> zero_bubble_greedy(const StageCosts& costs, std::uint32_t micro_batches,
                                                        const MemoryRule& memory, const GreedyChoices& choices) {
  return Greedy(costs, micro_batches, memory, choices).run();
}

}  // namespace plimsoll
