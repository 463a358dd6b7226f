#include "sim/schedule/building_block.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace plimsoll {
namespace {

using Slots = std::array<int, kVPasses>;

constexpr std::size_t kDown = 0, kUp = 1, kBackDown = 2, kBackUp = 3;

Slots slots_of(const BuildingBlock& block, std::uint32_t rank) {
  Slots slots{};
  for (std::size_t pass = 0; pass < kVPasses; ++pass) slots[pass] = block.slot(static_cast<VPass>(pass), rank);
  return slots;
}

constexpr int phase(int slot) { return slot % kBlockSlots; }

bool collide(const Slots& slots) {
  std::array<bool, kBlockSlots> taken{};
  for (const int slot : slots) {
    if (std::exchange(taken[static_cast<std::size_t>(phase(slot))], true)) return true;
  }
  return false;
}

/// The first slot after `slot` whose phase is free; it is then taken.
int take_free(std::array<bool, kBlockSlots>& taken, int slot) {
  do {
    ++slot;
  } while (taken[static_cast<std::size_t>(phase(slot))]);
  taken[static_cast<std::size_t>(phase(slot))] = true;
  return slot;
}

std::array<int, 2> weights_after(const Slots& slots) {
  std::array<bool, kBlockSlots> taken{};
  for (const int slot : slots) taken[static_cast<std::size_t>(phase(slot))] = true;
  const int second = take_free(taken, slots[kBackDown]);
  const int first = take_free(taken, slots[kBackUp]);
  return {first, second};
}

/// How many of the intervals [begin + 6 j, end + 6 j), j any integer, hold `slot`. All are at least 0.
int alive(int begin, int end, int slot) {
  const int later = slot + (end / kBlockSlots + 1) * kBlockSlots;  // no quotient below is negative
  return (later - begin) / kBlockSlots - (later - end) / kBlockSlots;
}

int held_by(const Slots& slots) {
  const std::array<int, 2> last = weights_after(slots);
  int most = 0;
  for (int slot = 0; slot < kBlockSlots; ++slot) {
    most = std::max(most, alive(slots[kDown], last[0] + 1, slot) + alive(slots[kUp], last[1] + 1, slot));
  }
  return most;
}

struct Merit {
  int most_held = std::numeric_limits<int>::max();
  int longest_life = 0;
  int length = 0;

  auto key() const { return std::tuple(most_held, longest_life, length); }
};

/// The worst over all ranks; none when passes collide.
bool judge(const BuildingBlock& block, Merit& merit) {
  merit = {.most_held = 0, .length = block.start[kBackUp]};
  for (std::uint32_t rank = 0; rank < block.ranks; ++rank) {
    const Slots slots = slots_of(block, rank);
    if (collide(slots)) return false;
    merit.most_held = std::max(merit.most_held, held_by(slots));
    merit.longest_life = std::max(merit.longest_life, slots[kBackUp] - slots[kDown] + slots[kBackDown] - slots[kUp]);
  }
  return true;
}

/// Each pass begins `turns[i]` slots after the one before it has come to its last rank.
BuildingBlock block_with(const Slots& hop, std::uint32_t ranks, const std::array<int, 3>& turns) {
  BuildingBlock block{.hop = hop, .ranks = ranks};
  const int hops = static_cast<int>(ranks) - 1;
  for (std::size_t pass = 1; pass < kVPasses; ++pass) {
    block.start[pass] = block.start[pass - 1] + hops * hop[pass - 1] + turns[pass - 1];
    block.waits_at_turns |= turns[pass - 1] > 1;
  }
  return block;
}

}  // namespace

std::array<int, 2> weight_slots(const BuildingBlock& block, std::uint32_t rank) {
  return weights_after(slots_of(block, rank));
}

BuildingBlock find_block(const std::array<int, kVPasses>& hop, std::uint32_t ranks) {
  BuildingBlock best;
  Merit least;
  for (int code = 0; code < kBlockSlots * kBlockSlots * kBlockSlots; ++code) {
    const std::array<int, 3> turns{1 + code / (kBlockSlots * kBlockSlots), 1 + code / kBlockSlots % kBlockSlots,
                                   1 + code % kBlockSlots};
    BuildingBlock block = block_with(hop, ranks, turns);
    Merit merit;
    if (!judge(block, merit) || merit.key() >= least.key()) continue;
    least = merit;
    block.most_held = merit.most_held;
    best = block;
  }
  return best;
}

}  // namespace plimsoll
