#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

/// Where a kind of data lives between its uses.
enum class Tier : std::uint8_t { kDevice, kHost, kSsd };

/// Everything that decides time and place and not numbers.
struct Strategy {
  std::string name = "resident";
  std::int64_t recompute_every = 0;  ///< 0 keeps all activations; k keeps the input of every k-th block and recomputes k blocks
  Tier parameters = Tier::kDevice;   ///< elsewhere: each group comes to the device just before it is used and is dropped after
  Tier optimizer = Tier::kDevice;    ///< where master weights and moments live; the CPU updates them unless on the device
  Tier gradients = Tier::kDevice;    ///< kHost: each block's gradient leaves the device as soon as it is complete
  std::int64_t staging_slots = 2;    ///< rotating transfer buffers; 1 serialises a transfer with the work it feeds
  bool overlap = true;               ///< false: every instruction waits for the one before it (the warm-up's caution)

  bool operator==(const Strategy&) const = default;
};

/// "offload-optimizer to host, gradients to host, recompute every block, 2 staging buffers".
std::string describe(const Strategy& strategy);

std::string_view to_text(Tier tier);
std::optional<Tier> parse_tier(std::string_view text);

}  // namespace plimsoll
