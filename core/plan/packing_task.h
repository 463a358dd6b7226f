#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"

namespace plimsoll {

/// Half-open stretch of time, in whatever unit a task counts.
struct TimeSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool operator==(const TimeSpan&) const = default;
};

/// A buffer that needs an address: when its bytes are in use, how many, and what its offset must obey.
struct TaskBuffer {
  std::string id;
  TimeSpan life;
  Bytes size;
  Bytes alignment{1};                  ///< its offset is a multiple of this
  std::optional<Bytes> offset = {};    ///< where it must lie
  std::vector<TimeSpan> gaps = {};     ///< stretches of its life in which others may use its bytes
  std::optional<Bytes> hint = {};      ///< where it would lie well; decides only between equals

  /// The stretches in which its bytes are in use, in order of time.
  [[nodiscard]] std::vector<TimeSpan> spans_in_use() const;
};

/// Static memory allocation (dynamic storage allocation, offline): find offsets below a capacity such that no two buffers
/// share a byte at a time.
using PackingTask = std::vector<TaskBuffer>;

}  // namespace plimsoll
