#pragma once

#include <vector>

#include "core/plan/strategy.h"

namespace plimsoll::test {

/// One strategy of each layout of a training's states, cautious and not.
inline std::vector<Strategy> state_layouts() {
  return {{.name = "resident"},
          {.name = "offload-optimizer", .optimizer = Tier::kHost, .gradients = Tier::kHost},
          {.name = "stream", .recompute_every = 1, .parameters = Tier::kHost, .optimizer = Tier::kHost,
           .gradients = Tier::kHost, .staging_slots = 1, .overlap = false},
          {.name = "offload-optimizer-ssd", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .staging_slots = 3},
          {.name = "overlapped", .optimizer = Tier::kHost, .gradients = Tier::kHost, .update_in_backward = true},
          {.name = "overlapped-ssd", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .update_in_backward = true},
          {.name = "stream-ssd", .recompute_every = 1, .parameters = Tier::kSsd, .optimizer = Tier::kSsd,
           .gradients = Tier::kHost}};
}

}  // namespace plimsoll::test
