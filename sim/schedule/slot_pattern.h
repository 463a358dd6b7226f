#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/schedule/pipeline_schedule.h"

namespace plimsoll {

/// The ops of a rank with one stage on the way down the ranks and one on the way back up, in the order in which data
/// flows; gradients flow the other way than activations. Weight gradients are of one kind, kWeightUp, or told apart.
enum class SlotWork : std::uint8_t { kForwardDown, kForwardUp, kInputUp, kInputDown, kWeightUp, kWeightDown };
inline constexpr std::size_t kPassWorks = 4;
inline constexpr std::size_t kSlotWorks = 6;

constexpr bool is_forward(SlotWork work) { return work <= SlotWork::kForwardUp; }
constexpr bool is_weight(SlotWork work) { return work >= SlotWork::kWeightUp; }
/// True when the data that the op needs come from the rank before.
constexpr bool goes_down(SlotWork work) { return work == SlotWork::kForwardDown || work == SlotWork::kInputUp; }

/// Time slots of one rank: slots[work][micro-batch]. A slot holds one op.
using RankSlots = std::array<std::vector<int>, kSlotWorks>;

/// Time slots of all ranks.
using SlotPattern = std::vector<RankSlots>;

/// An op of a pattern.
struct SlotOp {
  int slot = 0;
  std::uint32_t rank = 0;
  SlotWork work = SlotWork::kForwardDown;
  std::uint32_t index = 0;  ///< micro-batch; of a weight gradient, how many came before it
};

/// All ops by slot, then rank, then work.
std::vector<SlotOp> ops_by_slot(const SlotPattern& pattern);

/// Takes the weight gradients of a rank out.
void drop_weights(RankSlots& rank);

/// Puts a weight gradient for every input gradient into the first free slots after it, and behind the end. Where
/// `apart`, there are two kinds, and kWeightUp goes first; else all are kWeightUp.
void fill_weights(RankSlots& rank, bool apart);

/// Lets every op start as soon as its rank and its data allow, each taking one slot; the order on each rank stays.
void compact(SlotPattern& pattern);

}  // namespace plimsoll
