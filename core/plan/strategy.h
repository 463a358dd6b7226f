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
  /// Of each recomputed block the outputs of so many kernels are kept nevertheless, those first that cost most arithmetic a byte.
  std::int64_t kept_outputs = 0;
  Tier parameters = Tier::kDevice;   ///< elsewhere: each group comes to the device just before it is used and is dropped after
  std::int64_t device_parameter_blocks = 0;  ///< with `parameters` elsewhere: of how many first blocks they stay on the device
  Tier optimizer = Tier::kDevice;    ///< where master weights and moments live; the CPU updates them unless the device does
  Tier gradients = Tier::kDevice;    ///< elsewhere: each block's gradient leaves the device as soon as it is complete
  Tier activations = Tier::kDevice;  ///< where what a block's backward pass reads waits for it (recomputing: the segment's input)
  std::int64_t activation_blocks = 0;  ///< of how many first blocks it waits there (segments: that start in them); at least 1
  std::int64_t host_activation_blocks = 0;  ///< with `activations` on the SSD: of how many of these it waits in host memory
  LoopOrder loop_order = LoopOrder::kDepthFirst;
  bool update_in_backward = false;   ///< a group's update starts when its gradient is complete, not after the last one's
  /// With `optimizer` elsewhere: of how many first blocks states stay on the device all the same, which updates these blocks.
  std::int64_t device_state_blocks = 0;
  /// With the optimizer's states on the SSD: of how many blocks after those they stay in host memory. Those of the embedding
  /// and the head, which are no blocks, stay on the SSD; with the optimizer on the host nothing does.
  std::int64_t host_state_blocks = 0;
  /// With `optimizer` elsewhere: of how many blocks after `device_state_blocks` the states come to the device for their update,
  /// which it makes, and go back. The CPU updates what is left, embedding and head among it.
  std::int64_t device_update_blocks = 0;
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
