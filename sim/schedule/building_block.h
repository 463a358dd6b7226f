#pragma once

#include <array>
#include <cstdint>

namespace plimsoll {

/// The passes of a micro-batch over ranks that have one stage on the way down and one on the way back up, in the order
/// in which it makes them.
enum class VPass : std::uint8_t { kForwardDown, kForwardUp, kGradientDown, kGradientUp };
inline constexpr std::size_t kVPasses = 4;

constexpr bool is_forward(VPass pass) { return pass <= VPass::kForwardUp; }
constexpr bool travels_down(VPass pass) { return pass == VPass::kForwardDown || pass == VPass::kGradientDown; }
/// True for the passes over a rank's first stage, false for those over its second.
constexpr bool on_way_down(VPass pass) { return pass == VPass::kForwardDown || pass == VPass::kGradientUp; }

/// What a rank does for one micro-batch: two forwards, two input gradients, two weight gradients, a slot of time each.
inline constexpr int kBlockSlots = 6;

/// When one micro-batch passes every rank. Micro-batches follow one another kBlockSlots later, so that a rank whose
/// four passes fall on different slots modulo kBlockSlots is always busy: weight gradients take the two slots left. Qi
/// et al., "Pipeline parallelism with controllable memory", 2024.
struct BuildingBlock {
  std::array<int, kVPasses> start{};  ///< slot of each pass at the rank where it begins
  std::array<int, kVPasses> hop{};    ///< slots from a rank to the next one, of each pass
  std::uint32_t ranks = 1;
  int most_held = 0;            ///< stages' activations that a rank holds at once when blocks follow one another
  bool waits_at_turns = false;  ///< a pass begins later than the one before it allows

  [[nodiscard]] int slot(VPass pass, std::uint32_t rank) const {
    const auto index = static_cast<std::size_t>(pass);
    const std::uint32_t hops = travels_down(pass) ? rank : ranks - 1 - rank;
    return start[index] + static_cast<int>(hops) * hop[index];
  }
};

/// The slots of a rank's weight gradients: of its first stage, of its second. They take the two free slots of every
/// kBlockSlots, first come first served.
std::array<int, 2> weight_slots(const BuildingBlock& block, std::uint32_t rank);

/// Among the blocks with these hops in which no two passes of a rank collide, the one that holds least, of those the
/// one whose activations live shortest, of those the shortest.
BuildingBlock find_block(const std::array<int, kVPasses>& hop, std::uint32_t ranks);

}  // namespace plimsoll
