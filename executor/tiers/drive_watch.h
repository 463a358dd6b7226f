#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "core/base/quantity.h"
#include "executor/tiers/chunk_queue.h"

namespace plimsoll {

/// What plans count on, in bytes a second.
struct ExpectedRates {
  double read = 0;
  double write = 0;
};

/// A stretch in which a drive took much longer than expected.
struct SlowStretch {
  Bytes read;
  Bytes written;
  double seconds = 0;           ///< in which anything was under way
  double expected_seconds = 0;  ///< that the same bytes should have taken, with patience for each transfer
  double planned_seconds = 0;   ///< without: by the rates that plans count on

  /// Of the rates that plans counted on, those at which it would have gone as it went.
  [[nodiscard]] ExpectedRates reached(const ExpectedRates& planned) const;
};

/// Notices, once, that a drive has become slow: three windows in a row of half a second's worth of bytes each took more
/// than twice their time. Single slow operations and pauses do not count, nor do transfers so small that waiting for a
/// core takes longer than the drive. Knows no clock: the caller tells the time. Members may be called from any thread.
class DriveWatch {
 public:
  explicit DriveWatch(ExpectedRates expected) : expected_(expected) {}

  void begin(Nanoseconds now);
  void end(Nanoseconds now, IoDirection direction, Bytes bytes);
  [[nodiscard]] const ExpectedRates& expected() const { return expected_; }
  /// What was noticed; nothing when all is well, or when it was taken before.
  std::optional<SlowStretch> take();

 private:
  void close_window();

  const ExpectedRates expected_;
  std::mutex mutex_;
  std::int64_t under_way_ = 0;
  Nanoseconds busy_since_;
  SlowStretch window_;
  SlowStretch stretch_;  ///< of slow windows in a row
  int slow_windows_ = 0;
  bool taken_ = false;
};

}  // namespace plimsoll
