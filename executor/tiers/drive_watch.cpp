#include "executor/tiers/drive_watch.h"

namespace plimsoll {
namespace {

constexpr double kWindowSeconds = 0.5;
constexpr int kWindows = 3;
constexpr double kSlow = 2.0;
/// A thread whose transfer has ended may have to wait so long for a core (the scheduler's slices are of this order).
constexpr double kGraceSeconds = 0.004;

void add(SlowStretch& to, const SlowStretch& more) {
  to.read += more.read;
  to.written += more.written;
  to.seconds += more.seconds;
  to.expected_seconds += more.expected_seconds;
  to.planned_seconds += more.planned_seconds;
}

}  // namespace

ExpectedRates SlowStretch::reached(const ExpectedRates& planned) const {
  const double share = planned_seconds / seconds;
  return {planned.read * share, planned.write * share};
}

void DriveWatch::begin(Nanoseconds now) {
  const std::scoped_lock lock(mutex_);
  if (under_way_++ == 0) busy_since_ = now;
}

/// Both directions draw on the drive's seconds, as the platform's links do.
void DriveWatch::end(Nanoseconds now, IoDirection direction, Bytes bytes) {
  const std::scoped_lock lock(mutex_);
  --under_way_;
  window_.seconds += to_seconds(now - busy_since_);
  busy_since_ = now;  // counts on only if something is still under way; `begin` moves it otherwise
  const double planned =
      static_cast<double>(bytes.count) / (direction == IoDirection::kRead ? expected_.read : expected_.write);
  window_.planned_seconds += planned;
  window_.expected_seconds += kGraceSeconds + planned;
  (direction == IoDirection::kRead ? window_.read : window_.written) += bytes;
  if (window_.expected_seconds >= kWindowSeconds) close_window();
}

void DriveWatch::close_window() {
  const bool slow = window_.seconds > kSlow * window_.expected_seconds;
  if (slow_windows_ < kWindows) {  // else it is slow already, and what was noticed stands
    if (!slow) stretch_ = {};
    slow_windows_ = slow ? slow_windows_ + 1 : 0;
    if (slow) add(stretch_, window_);
  }
  window_ = {};
}

std::optional<SlowStretch> DriveWatch::take() {
  const std::scoped_lock lock(mutex_);
  if (taken_ || slow_windows_ < kWindows) return std::nullopt;
  taken_ = true;
  return stretch_;
}

}  // namespace plimsoll
