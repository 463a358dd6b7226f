#include "sim/schedule/squeeze_pattern.h"

#include <algorithm>
#include <limits>

namespace plimsoll {
namespace {

constexpr int kUnlimited = std::numeric_limits<int>::max();

/// What one rank does in each slot, what it holds after it, and the changes that a moved op makes.
class RankTimeline {
 public:
  RankTimeline(const RankSlots& rank, bool with_weights) : with_weights_(with_weights) {
    int last = 0;
    for (const auto& slots : rank) last = slots.empty() ? last : std::max(last, slots.back());
    slots_.resize(static_cast<std::size_t>(last) + 1);
    for (std::size_t work = 0; work < kSlotWorks; ++work) {
      for (const int slot : rank[work]) at(slot).use = use_of(static_cast<SlotWork>(work));
    }
    follow(0, kUnlimited, last + 1);
    for (std::size_t work = 2; work < kPassWorks; ++work)
      inputs_.insert(inputs_.end(), rank[work].begin(), rank[work].end());
    std::sort(inputs_.begin(), inputs_.end());
  }

  [[nodiscard]] int most_held() const {
    int most = 0;
    for (const Slot& slot : slots_) most = std::max(most, slot.held);
    return most;
  }

  [[nodiscard]] bool is_free(int slot) const { return slots_[static_cast<std::size_t>(slot)].use == Use::kFree; }

  /// Slot of the n-th input gradient in order of time.
  [[nodiscard]] int nth_input(std::uint32_t n) const { return inputs_[n]; }

  /// Moves the op of `from` to the earlier free slot `to` unless the rank would ever hold more than `limit`.
  bool try_move(int from, int to, int limit) {
    const Use use = at(from).use;
    std::swap(at(from).use, at(to).use);
    if (!follow(to, limit, from + 1)) {
      std::swap(at(from).use, at(to).use);
      follow(to, kUnlimited, from + 1);
      return false;
    }
    if (use == Use::kInput) {
      inputs_.erase(std::lower_bound(inputs_.begin(), inputs_.end(), from));
      inputs_.insert(std::lower_bound(inputs_.begin(), inputs_.end(), to), to);
    }
    return true;
  }

 private:
  enum class Use : std::uint8_t { kFree, kForward, kInput, kWeight };
  struct Slot {
    Use use = Use::kFree;
    int held = 0;     ///< activations after the slot
    int waiting = 0;  ///< weight gradients that could run; counted only where they have no slots of their own
    bool operator==(const Slot&) const = default;
  };

  static Use use_of(SlotWork work) {
    return is_forward(work) ? Use::kForward : is_weight(work) ? Use::kWeight : Use::kInput;
  }

  Slot& at(int slot) { return slots_[static_cast<std::size_t>(slot)]; }

  /// Counts what is held from slot `begin` on, at least up to `end` and then until it is as it was; false when it
  /// passes `limit`.
  bool follow(int begin, int limit, int end) {
    Slot before = begin > 0 ? at(begin - 1) : Slot{};
    for (int slot = begin; slot < static_cast<int>(slots_.size()); ++slot) {
      const Slot old = at(slot);
      before = after(before, old.use);
      at(slot) = before;
      if (before.held > limit) return false;
      if (slot >= end && before == old) return true;
    }
    return true;
  }

  [[nodiscard]] Slot after(Slot state, Use use) const {
    const bool frees = use == Use::kWeight || (use == Use::kFree && !with_weights_ && state.waiting > 0);
    state.use = use;
    if (use == Use::kForward) ++state.held;
    if (use == Use::kInput && !with_weights_) ++state.waiting;
    if (frees) --state.held;
    if (frees && !with_weights_) --state.waiting;
    return state;
  }

  bool with_weights_;
  std::vector<Slot> slots_;
  std::vector<int> inputs_;
};

/// The first slot at which the data of `op` are there.
int first_possible(const SlotPattern& pattern, const std::vector<RankTimeline>& timelines, const SlotOp& op) {
  const RankSlots& rank = pattern[op.rank];
  const auto work = static_cast<std::size_t>(op.work);
  int after = op.index > 0 ? rank[work][op.index - 1] : -1;
  if (is_weight(op.work)) return std::max(after, timelines[op.rank].nth_input(op.index)) + 1;
  if (work > 0) after = std::max(after, rank[work - 1][op.index]);
  if (goes_down(op.work) && op.rank > 0) after = std::max(after, pattern[op.rank - 1][work][op.index]);
  if (!goes_down(op.work) && op.rank + 1 < pattern.size()) {
    after = std::max(after, pattern[op.rank + 1][work][op.index]);
  }
  return after + 1;
}

enum class Phase { kStart, kMiddle, kEnd };

/// The phase that begins with `op`.
Phase phase_at(Phase phase, const SlotOp& op, std::uint32_t last) {
  if (phase == Phase::kStart && op.work == SlotWork::kInputDown && op.rank == 0) phase = Phase::kMiddle;
  if (phase == Phase::kMiddle && op.work == SlotWork::kForwardDown && op.index == last) return Phase::kEnd;
  return phase;
}

}  // namespace

void squeeze(SlotPattern& pattern, bool with_weights) {
  std::vector<RankTimeline> timelines;
  int limit = 0;
  for (RankSlots& rank : pattern) {
    if (with_weights) fill_weights(rank, false);
    timelines.emplace_back(rank, with_weights);
    limit = std::max(limit, timelines.back().most_held());
  }
  const auto last = static_cast<std::uint32_t>(pattern[0][0].size() - 1);
  Phase phase = Phase::kStart;
  for (const SlotOp& op : ops_by_slot(pattern)) {
    const Phase before = phase;
    phase = phase_at(phase, op, last);
    const bool is_turn = phase != before && phase == Phase::kEnd;  // the last forward itself stays
    if (phase == Phase::kMiddle || is_turn || (phase == Phase::kStart && !with_weights)) continue;
    for (int slot = first_possible(pattern, timelines, op); slot < op.slot; ++slot) {
      if (!timelines[op.rank].is_free(slot) || !timelines[op.rank].try_move(op.slot, slot, limit)) continue;
      pattern[op.rank][static_cast<std::size_t>(op.work)][op.index] = slot;
      break;
    }
  }
}

}  // namespace plimsoll
