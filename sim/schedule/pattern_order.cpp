#include "sim/schedule/pattern_order.h"

#include <algorithm>
#include <limits>

#include "sim/schedule/order_builder.h"

namespace plimsoll {
namespace {

constexpr std::array<VPass, kVPasses> kPasses{VPass::kForwardDown, VPass::kForwardUp, VPass::kGradientDown,
                                              VPass::kGradientUp};

/// The list schedule under construction.
class PatternWalk {
 public:
  PatternWalk(const BuildingBlock& block, PipelineSchedule& schedule)
      : block_(block), schedule_(schedule), ranks_(block.ranks) {
    for (std::uint32_t rank = 0; rank < block.ranks; ++rank) ranks_[rank].weight_slots = weight_slots(block, rank);
    for (auto& table : began_) table.assign(ranks_.size() * schedule.micro_batches, kNever);
  }

  void run() {
    std::uint64_t left = std::uint64_t{3} * schedule_.cells();
    for (int slot = 0; left > 0; ++slot) {
      for (std::uint32_t rank = 0; rank < block_.ranks; ++rank) left -= step(rank, slot) ? 1 : 0;
    }
  }

 private:
  struct Waiting {
    VPass pass;
    std::uint32_t micro_batch;
  };
  struct Rank {
    std::array<std::uint32_t, kVPasses> done{};  ///< micro-batches that made each pass
    int held = 0;                                ///< stages' activations
    std::vector<Waiting> weights;                ///< gradients whose weight gradients are due, from `next_weight` on
    std::size_t next_weight = 0;
    std::array<int, 2> weight_slots{};
  };

  static constexpr int kNever = std::numeric_limits<int>::max();

  [[nodiscard]] int& began(VPass pass, std::uint32_t rank, std::uint32_t micro_batch) {
    return began_[static_cast<std::size_t>(pass)][std::size_t{rank} * schedule_.micro_batches + micro_batch];
  }

  /// True when the pass before, or the rank before, has ended by `slot`.
  bool has_data(VPass pass, std::uint32_t rank, std::uint32_t micro_batch, int slot) {
    if (pass == VPass::kGradientUp && began(VPass::kForwardDown, rank, micro_batch) >= slot) return false;
    if (pass == VPass::kGradientDown && began(VPass::kForwardUp, rank, micro_batch) >= slot) return false;
    if (rank != (travels_down(pass) ? 0 : block_.ranks - 1)) {
      return began(pass, travels_down(pass) ? rank - 1 : rank + 1, micro_batch) < slot;
    }
    if (pass == VPass::kForwardDown) return true;
    return began(static_cast<VPass>(static_cast<int>(pass) - 1), rank, micro_batch) < slot;
  }

  [[nodiscard]] std::uint32_t next(const Rank& state, VPass pass) const {
    return state.done[static_cast<std::size_t>(pass)];
  }

  /// The slot that the repeated block has for the next `pass` of a rank.
  [[nodiscard]] int place(std::uint32_t rank, VPass pass) const {
    return block_.slot(pass, rank) + kBlockSlots * static_cast<int>(next(ranks_[rank], pass));
  }

  /// The slot that the repeated block has for a rank's next weight gradient, while the rank has forwards to begin: then
  /// hops have room between passes. Afterwards a weight gradient never keeps a pass waiting.
  [[nodiscard]] int weight_place(const Rank& state) const {
    if (state.next_weight == state.weights.size()) return kNever;
    if (next(state, VPass::kForwardDown) == schedule_.micro_batches) return kNever;
    const Waiting& due = state.weights[state.next_weight];
    return state.weight_slots[on_way_down(due.pass) ? 0 : 1] + kBlockSlots * static_cast<int>(due.micro_batch);
  }

  /// Forwards of the rank's other stage that the next `pass` would overtake.
  [[nodiscard]] int overtaken(std::uint32_t rank, VPass pass) const {
    const VPass other = pass == VPass::kForwardDown ? VPass::kForwardUp : VPass::kForwardDown;
    const int first = place(rank, other);
    const int ahead = place(rank, pass) - first;
    const int left = static_cast<int>(schedule_.micro_batches - next(ranks_[rank], other));
    return ahead <= 0 ? 0 : std::min((ahead + kBlockSlots - 1) / kBlockSlots, left);
  }

  [[nodiscard]] bool has_room(std::uint32_t rank, VPass pass) const {
    return !is_forward(pass) || ranks_[rank].held + overtaken(rank, pass) < block_.most_held;
  }

  bool step(std::uint32_t rank, int slot) {
    std::array<VPass, kVPasses> heads = kPasses;
    std::sort(heads.begin(), heads.end(), [&](VPass a, VPass b) { return place(rank, a) < place(rank, b); });
    const int weight = weight_place(ranks_[rank]);
    for (const VPass pass : heads) {
      if (weight < place(rank, pass)) break;
      const std::uint32_t micro_batch = next(ranks_[rank], pass);
      if (micro_batch == schedule_.micro_batches) continue;
      if (!has_room(rank, pass)) break;
      if (has_data(pass, rank, micro_batch, slot)) return make(rank, pass, slot);
      if (!block_.waits_at_turns) break;
    }
    return make_weight(rank);
  }

  [[nodiscard]] std::uint32_t stage(std::uint32_t rank, VPass pass) const {
    return on_way_down(pass) ? rank : 2 * block_.ranks - 1 - rank;
  }

  bool make(std::uint32_t rank, VPass pass, int slot) {
    Rank& state = ranks_[rank];
    const std::uint32_t micro_batch = state.done[static_cast<std::size_t>(pass)]++;
    began(pass, rank, micro_batch) = slot;
    OrderBuilder order(schedule_.orders[rank]);
    if (is_forward(pass)) {
      ++state.held;
      order.forward(stage(rank, pass), micro_batch);
    } else {
      state.weights.push_back({pass, micro_batch});
      order.input(stage(rank, pass), micro_batch);
    }
    return true;
  }

  bool make_weight(std::uint32_t rank) {
    Rank& state = ranks_[rank];
    if (state.next_weight == state.weights.size()) return false;
    const Waiting due = state.weights[state.next_weight++];
    --state.held;
    OrderBuilder(schedule_.orders[rank]).weight(stage(rank, due.pass), due.micro_batch);
    return true;
  }

  const BuildingBlock& block_;
  PipelineSchedule& schedule_;
  std::vector<Rank> ranks_;
  std::array<std::vector<int>, kVPasses> began_;  ///< slot, by rank and micro-batch
};

}  // namespace

void order_by_block(const BuildingBlock& block, PipelineSchedule& schedule) { PatternWalk(block, schedule).run(); }

}  // namespace plimsoll
