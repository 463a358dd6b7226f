#pragma once

#include <optional>
#include <string>

#include "sim/schedule/stage_costs.h"

namespace plimsoll {

/// What a user asks a schedule for.
struct ScheduleRequest {
  std::string name;
  std::uint32_t ranks = 1;
  std::uint32_t micro_batches = 1;
  std::optional<std::uint32_t> chunks;  ///< stages of a rank; each schedule has its own default
  std::optional<std::uint32_t> group;   ///< interleaved: micro-batches that pass a chunk one after another
  bool overlapped = false;              ///< dualpipe, dualpipe-v: steady-state forwards and backwards run as one
  bool vertical_sync = false;           ///< pipedream: all stages use the version that the first saw
  std::vector<std::uint32_t>
      replicas;  ///< pipedream: ranks of each stage that micro-batches go round; empty: one of each
  RankCosts costs;                      ///< auto builds for these
  std::vector<RankCosts> stage_costs;   ///< in their place, of each stage by itself, when not empty
  std::optional<double> memory_cap;     ///< auto: most activations of a rank, in micro-batches of a full rank
  double kept_for_weights = 1;          ///< share of a micro-batch's activations that waits from I to W
};

}  // namespace plimsoll
