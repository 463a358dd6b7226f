#include "sim/des/shared_work.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace plimsoll {

void SharedWork::add(Nanoseconds now, std::uint32_t id, const Activity& activity, Nanoseconds duration) {
  pieces_.push_back({.id = id, .remaining = static_cast<double>(duration.count), .since = now});
  activities_.push_back(activity);
  changed_ = true;
}

void SharedWork::settle(Nanoseconds now) {
  if (!changed_) return;
  changed_ = false;
  speeds_.resize(pieces_.size());
  shares_.solve(activities_, speeds_);
  next_end_ = Nanoseconds(kNever);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Piece& piece = pieces_[i];
    if (piece.speed != speeds_[i]) {
      piece.remaining = std::max(0.0, piece.remaining - piece.speed * static_cast<double>((now - piece.since).count));
      piece.since = now;
      piece.speed = speeds_[i];
      piece.end = now + Nanoseconds(std::llround(piece.remaining / piece.speed));
    }
    next_end_ = std::min(next_end_, piece.end);
  }
}

void SharedWork::take_ended(Nanoseconds now, std::vector<std::uint32_t>& ended) {
  if (next_end_ > now) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    // A piece of speed 0 was added at `now` and has no end yet.
    if (pieces_[i].speed > 0 && pieces_[i].end <= now) {
      ended.push_back(pieces_[i].id);
      continue;
    }
    pieces_[kept] = pieces_[i];
    activities_[kept++] = activities_[i];
  }
  pieces_.resize(kept);
  activities_.resize(kept);
  changed_ = true;
}

}  // namespace plimsoll
