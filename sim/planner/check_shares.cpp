#include "sim/planner/check_shares.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(const Strategy& strategy, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("strategy '{}' {}", strategy.name, what),
               .where = {},
               .remedy = std::move(remedy)});
}

Result<void> check_count(const Strategy& strategy, std::string_view key, std::int64_t blocks, std::int64_t layers) {
  if (blocks <= layers) return {};
  return refuse(strategy, fmt::format("says {}: {}, and the model has {} blocks", key, blocks, layers),
                fmt::format("say {}: {} for all of them", key, layers));
}

}  // namespace

Result<void> check_shares(const Strategy& s, std::int64_t layers) {
  if (auto good = check_count(s, "activation_blocks", s.activation_blocks, layers); !good) return good;
  if (auto good = check_count(s, "host_state_blocks", s.host_state_blocks, layers); !good) return good;
  if (auto good = check_count(s, "device_parameter_blocks", s.device_parameter_blocks, layers); !good) return good;
  if (auto good = check_count(s, "device_state_blocks + host_state_blocks", s.device_state_blocks + s.host_state_blocks, layers); !good) {
    return good;
  }
  if (auto good = check_count(s, "device_state_blocks + device_update_blocks", s.device_state_blocks + s.device_update_blocks, layers); !good) {
    return good;
  }
  if (s.device_update_blocks > 0 && s.optimizer == Tier::kDevice) {
    return refuse(s, fmt::format("says device_update_blocks: {} while all states are on the device", s.device_update_blocks),
                  "say optimizer: \"host\" or \"ssd\", or device_update_blocks: 0");
  }
  if (s.device_state_blocks > 0 && s.optimizer == Tier::kDevice) {
    return refuse(s, fmt::format("says device_state_blocks: {} while all states are on the device", s.device_state_blocks),
                  "say optimizer: \"host\" or \"ssd\", or device_state_blocks: 0");
  }
  if (s.device_parameter_blocks > 0 && s.parameters == Tier::kDevice) {
    return refuse(s, fmt::format("says device_parameter_blocks: {} while all weights are on the device", s.device_parameter_blocks),
                  "say parameters: \"host\" or \"ssd\", or device_parameter_blocks: 0");
  }
  if (s.host_activation_blocks > (s.activations == Tier::kSsd ? s.activation_blocks : 0)) {
    return refuse(s, fmt::format("says host_activation_blocks: {}, more than the blocks whose activations go to the SSD",
                                 s.host_activation_blocks),
                  "say activations: \"ssd\" with as many activation_blocks, or host_activation_blocks: 0");
  }
  if (s.kept_outputs > 0 && s.recompute_every == 0) {
    return refuse(s, fmt::format("says kept_outputs: {} while all outputs are kept", s.kept_outputs),
                  "say recompute_every: 1, or kept_outputs: 0");
  }
  if (s.activation_blocks > 0 && s.activations == Tier::kDevice) {
    return refuse(s, fmt::format("says activation_blocks: {} while activations stay on the device", s.activation_blocks),
                  "say activations: \"host\" or \"ssd\", or activation_blocks: 0");
  }
  if (s.activation_blocks == 0 && s.activations != Tier::kDevice) {
    return refuse(s, fmt::format("says activations: \"{}\" of no block", to_text(s.activations)),
                  fmt::format("say activation_blocks: 1 to {}", layers));
  }
  if (s.host_state_blocks > 0 && s.optimizer != Tier::kSsd) {
    return refuse(s, fmt::format("says host_state_blocks: {} while no states are on the SSD", s.host_state_blocks),
                  "say optimizer: \"ssd\", or host_state_blocks: 0");
  }
  return {};
}

Tier state_tier(const Strategy& strategy, std::int64_t block) {
  if (block < 0 || strategy.optimizer == Tier::kDevice) return strategy.optimizer;
  if (block < strategy.device_state_blocks) return Tier::kDevice;
  const bool stays = block < strategy.device_state_blocks + strategy.host_state_blocks;
  return strategy.optimizer == Tier::kSsd && stays ? Tier::kHost : strategy.optimizer;
}

bool updated_by_device(const Strategy& strategy, std::int64_t block) {
  if (strategy.optimizer == Tier::kDevice) return true;
  return block >= 0 && block < strategy.device_state_blocks + strategy.device_update_blocks;
}

bool device_updates_all(const Strategy& strategy, std::int64_t blocks) {
  return blocks == 0 || updated_by_device(strategy, blocks - 1);
}

}  // namespace plimsoll
