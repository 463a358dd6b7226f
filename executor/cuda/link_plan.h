#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// Which ranks' devices talk on what. A link joins the queues, one of each of its ranks, whose exchanges belong together; a
/// library that matches messages by their order alone needs a communicator for each.
struct LinkPlan {
  std::vector<std::vector<std::uint32_t>> links;                       ///< members of each, ascending
  std::vector<std::vector<std::optional<std::uint32_t>>> link_of_queue;  ///< by rank and queue; nothing: no exchanges
};

/// Of the plans of all ranks, for all their bodies. Fails where plans do not go together (order_ranks), where a queue would need
/// two places in one link, and where two ranks' messages to each other do not come in one order on both.
Result<LinkPlan> plan_links(std::span<const Plan> plans);

}  // namespace plimsoll
