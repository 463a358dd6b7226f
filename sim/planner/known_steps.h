#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/quantity.h"
#include "sim/planner/lower_to_plan.h"

namespace plimsoll {

/// What a step came to that was placed and, if it fits, simulated.
struct KnownStep {
  std::vector<SpaceNeed> needs;
  std::optional<Nanoseconds> step;  ///< nothing when it does not fit
  std::size_t instructions = 0;
};

/// A search's steps by their unplaced_digest: a quarter to a third of the strategies that it places come to a step that another
/// came to before. Any thread may ask; an answer is what the asker would have come to, so it depends on no order.
class KnownSteps {
 public:
  [[nodiscard]] std::optional<KnownStep> find(std::uint64_t digest) const {
    const std::scoped_lock lock(mutex_);
    const auto known = steps_.find(digest);
    return known == steps_.end() ? std::nullopt : std::optional(known->second);
  }

  void add(std::uint64_t digest, KnownStep step) {
    const std::scoped_lock lock(mutex_);
    steps_.try_emplace(digest, std::move(step));
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, KnownStep> steps_;
};

}  // namespace plimsoll
