#pragma once

#include "sim/planner/partition/ideals.h"

namespace plimsoll {

/// Which outputs pass from one stage to others.
class CrossingTensors {
 public:
  explicit CrossingTensors(const Ideals& ideals);

  /// Layers of a set that others outside of it read.
  [[nodiscard]] std::span<const LayerId> open(std::size_t ideal) const { return open_[ideal]; }
  /// Whether a layer of the stage between two sets reads `from`, which is in the first one.
  [[nodiscard]] bool reads(std::size_t first, std::size_t second, LayerId from) const;
  /// Outputs that the stage between two sets reads, and those of its own that others read, each once.
  [[nodiscard]] Bytes crossing(std::size_t first, std::size_t second) const;

 private:
  const Ideals& ideals_;
  std::vector<std::vector<LayerId>> readers_;  ///< by layer
  std::vector<std::vector<LayerId>> open_;     ///< by set
};

}  // namespace plimsoll
