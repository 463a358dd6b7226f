#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

/// Where a kind of data lives between its uses.
enum class Tier : std::uint8_t { kDevice, kHost, kSsd };

/// In which order the blocks of a step's micro-batches run.
enum class LoopOrder : std::uint8_t {
  kDepthFirst,    ///< a micro-batch goes forward and backward before the next one starts
  kBreadthFirst,  ///< all micro-batches pass a block before the next block starts, so its weights come once a pass
};

/// Everything that decides time and place and not numbers.
struct Strategy {
  std::string name = "resident";
  std::int64_t recompute_every = 0;  ///< 0 keeps all activations; k keeps the input of every k-th block and recomputes k blocks
  Tier parameters = Tier::kDevice;   ///< elsewhere: each group comes to the device just before it is used and is dropped after
  Tier optimizer = Tier::kDevice;    ///< where master weights and moments live; the CPU updates them unless on the device
  Tier gradients = Tier::kDevice;    ///< elsewhere: each block's gradient leaves the device as soon as it is complete
  Tier activations = Tier::kDevice;  ///< where what a block's backward pass reads waits for it (recomputing: the segment's input)
  std::int64_t activation_blocks = 0;  ///< of how many first blocks it waits there (segments: that start in them); at least 1
  LoopOrder loop_order = LoopOrder::kDepthFirst;
  bool update_in_backward = false;   ///< a group's update starts when its gradient is complete, not after the last one's
  /// With the optimizer's states on the SSD: of how many first blocks they stay in host memory. Those of the embedding and
  /// the head, which are no blocks, stay on the SSD; with the optimizer on the host nothing does.
  std::int64_t host_state_blocks = 0;
  std::int64_t staging_slots = 2;    ///< rotating transfer buffers; 1 serialises a transfer with the work it feeds
  bool overlap = true;               ///< false: every instruction waits for the one before it (the warm-up's caution)

  bool operator==(const Strategy&) const = default;
};

/// "offload-optimizer to host, gradients to host, recompute every block, 2 staging buffers".
std::string describe(const Strategy& strategy);

std::string_view to_text(Tier tier);
std::optional<Tier> parse_tier(std::string_view text);
std::string_view to_text(LoopOrder order);

}  // namespace plimsoll
