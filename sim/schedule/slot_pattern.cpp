#include "sim/schedule/slot_pattern.h"

#include <algorithm>
#include <tuple>

namespace plimsoll {

std::vector<SlotOp> ops_by_slot(const SlotPattern& pattern) {
  std::vector<SlotOp> ops;
  for (std::uint32_t rank = 0; rank < pattern.size(); ++rank) {
    for (std::size_t work = 0; work < kSlotWorks; ++work) {
      const auto& slots = pattern[rank][work];
      for (std::uint32_t i = 0; i < slots.size(); ++i) ops.push_back({slots[i], rank, static_cast<SlotWork>(work), i});
    }
  }
  std::sort(ops.begin(), ops.end(), [](const SlotOp& a, const SlotOp& b) {
    return std::tie(a.slot, a.rank, a.work) < std::tie(b.slot, b.rank, b.work);
  });
  return ops;
}

void drop_weights(RankSlots& rank) {
  for (std::size_t work = kPassWorks; work < kSlotWorks; ++work) rank[work].clear();
}

void fill_weights(RankSlots& rank, bool apart) {
  int last = 0;
  for (std::size_t work = 0; work < kPassWorks; ++work) last = std::max(last, rank[work].back());
  std::vector<std::int8_t> taken(static_cast<std::size_t>(last) + 1, -1);
  for (std::size_t work = 0; work < kPassWorks; ++work) {
    for (const int slot : rank[work]) taken[static_cast<std::size_t>(slot)] = static_cast<std::int8_t>(work);
  }
  drop_weights(rank);
  std::array<std::size_t, 2> waiting{};
  const auto put = [&](int slot) {
    const std::size_t kind = waiting[0] > 0 ? 0 : 1;
    if (waiting[kind] == 0) return;
    rank[kPassWorks + kind].push_back(slot);
    --waiting[kind];
  };
  for (int slot = 0; slot <= last; ++slot) {
    const std::int8_t work = taken[static_cast<std::size_t>(slot)];
    if (work < 0) {
      put(slot);
    } else if (!is_forward(static_cast<SlotWork>(work))) {
      ++waiting[apart && static_cast<SlotWork>(work) == SlotWork::kInputDown ? 1 : 0];
    }
  }
  while (waiting[0] + waiting[1] > 0) put(++last);
}

void compact(SlotPattern& pattern) {
  std::vector<int> free(pattern.size(), 0);
  for (const SlotOp& op : ops_by_slot(pattern)) {
    const auto work = static_cast<std::size_t>(op.work);
    int start = free[op.rank];
    if (!is_weight(op.work)) {
      const bool comes_from_before = goes_down(op.work);
      const bool is_first = comes_from_before ? op.rank == 0 : op.rank + 1 == pattern.size();
      if (!is_first) {
        start = std::max(start, pattern[comes_from_before ? op.rank - 1 : op.rank + 1][work][op.index] + 1);
      }
    }
    pattern[op.rank][work][op.index] = start;
    free[op.rank] = start + 1;
  }
}

}  // namespace plimsoll
