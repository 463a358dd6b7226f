#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/expand.h"

namespace plimsoll {

/// Answers "has a ended before b starts, whatever the durations?" for a program fed in id order, by vector clocks.
/// Queues of width 1 are one lane; a wider queue orders only what its dependencies order, so its instructions are spread
/// over lanes such that each lane is a chain.
class HappensBefore {
 public:
  explicit HappensBefore(const Platform& platform);

  /// Adds the next instruction. `dependencies` are positions given by earlier calls. Returns its position (0, 1, …).
  std::uint32_t add(QueueId queue, std::span<const QueueId> members, std::span<const std::uint32_t> dependencies);

  /// True when `earlier` ends before `later` starts in every run. Both must have been added, earlier < later.
  [[nodiscard]] bool ordered(std::uint32_t earlier, std::uint32_t later) const;

  [[nodiscard]] std::uint32_t lane(std::uint32_t position) const;
  [[nodiscard]] std::size_t size() const;

 private:
  // Implementation: see happens_before.cpp.
  struct Node {
    std::uint32_t lane = 0;
    std::uint32_t tick = 0;  ///< 1-based place in its lane
  };
  std::vector<std::uint32_t> queue_lane_;   ///< lane of a width-1 queue
  std::vector<std::int64_t> width_;
  std::vector<Node> nodes_;
};

}  // namespace plimsoll
