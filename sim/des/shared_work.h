#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/quantity.h"
#include "sim/des/known_shares.h"

namespace plimsoll {

/// The running work that holds shared resources: how fast each piece goes and when it will end.
///
/// Rounding: a piece's remaining work is touched only when its own speed changes, and its end is the nearest
/// nanosecond. Work that is never slowed ends after exactly its duration; each change of speed moves an end by at most
/// half a nanosecond, and nothing accumulates over a run because every piece starts from its integer duration.
class SharedWork {
 public:
  explicit SharedWork(std::span<const Resource> resources) : shares_(resources) {}

  /// Starts a piece that takes `duration` alone. `activity`'s demands must outlive it.
  void add(Nanoseconds now, std::uint32_t id, const Activity& activity, Nanoseconds duration);

  /// Shares the resources anew if pieces came or went since the last call. To be called before time moves on.
  void settle(Nanoseconds now);

  /// When the next piece ends; the largest representable time when none runs. Valid after settle().
  [[nodiscard]] Nanoseconds next_end() const { return next_end_; }

  /// Removes the pieces that end at `now` and appends their ids in the order in which they came.
  void take_ended(Nanoseconds now, std::vector<std::uint32_t>& ended);

 private:
  struct Piece {
    std::uint32_t id = 0;
    double speed = 0;
    double remaining = 0;  ///< nanoseconds at speed 1, as of `since`
    Nanoseconds since;     ///< when the speed last changed
    Nanoseconds end;
  };

  KnownShares shares_;
  std::vector<Piece> pieces_;
  std::vector<Activity> activities_;  ///< of the pieces, by position
  std::vector<double> speeds_;
  Nanoseconds next_end_{kNever};
  bool changed_ = false;

  static constexpr std::int64_t kNever = INT64_MAX;
};

}  // namespace plimsoll
