#include "gui/timeline/event_lane.h"

#include <algorithm>

namespace plimsoll::gui {
namespace {

/// The first index from `from` on where `before` no longer holds, by steps that double: near ones are found at once.
template <typename Before>
std::size_t gallop(std::size_t from, std::size_t size, const Before& before) {
  std::size_t stride = 1;
  std::size_t low = from;
  while (low < size && before(low)) {
    from = low + 1;
    low += stride;
    stride *= 2;
  }
  std::size_t high = std::min(low, size);
  while (from < high) {
    const std::size_t middle = from + (high - from) / 2;
    if (before(middle)) {
      from = middle + 1;
    } else {
      high = middle;
    }
  }
  return from;
}

}  // namespace

void EventLane::reserve(std::size_t events) {
  starts_.reserve(events);
  ends_.reserve(events);
  labels_.reserve(events);
  steps_.reserve(events);
}

void EventLane::add(const LaneEvent& event) {
  starts_.push_back(event.start);
  ends_.push_back(event.end);
  labels_.push_back(event.label);
  steps_.push_back(event.step);
}

EventLane::Node EventLane::node(std::size_t level, std::size_t i) const {
  if (level == 0) return {duration(i), static_cast<std::uint32_t>(i)};
  return levels_[level - 1][i];
}

void EventLane::sort_events() {
  if (std::is_sorted(starts_.begin(), starts_.end())) return;
  std::vector<LaneEvent> events;
  events.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) events.push_back(at(i));
  std::stable_sort(events.begin(), events.end(), [](const LaneEvent& a, const LaneEvent& b) { return a.start < b.start; });
  for (std::size_t i = 0; i < events.size(); ++i) {
    starts_[i] = events[i].start;
    ends_[i] = events[i].end;
    labels_[i] = events[i].label;
    steps_[i] = events[i].step;
  }
}

void EventLane::finish() {
  sort_events();
  starts_.shrink_to_fit();
  ends_.shrink_to_fit();
  labels_.shrink_to_fit();
  steps_.shrink_to_fit();
  levels_.clear();
  for (std::size_t below = size(); below >= kFanOut; below /= kFanOut) {
    const std::size_t level = levels_.size();
    std::vector<Node> nodes(below / kFanOut);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      LaneBucket held;
      for (std::size_t i = n * kFanOut; i < (n + 1) * kFanOut; ++i) take(held, node(level, i));
      nodes[n] = {held.busy, held.longest};
    }
    levels_.push_back(std::move(nodes));
  }
}

void EventLane::take(LaneBucket& bucket, const Node& node) const {
  bucket.busy += node.busy;
  if (bucket.longest == LaneBucket::kNone) {
    bucket.longest = node.longest;
    return;
  }
  const std::int64_t known = duration(bucket.longest);
  const std::int64_t other = duration(node.longest);
  if (other > known || (other == known && node.longest < bucket.longest)) bucket.longest = node.longest;
}

std::size_t EventLane::first_ending_after(double time, std::size_t from) const {
  return gallop(from, size(), [&](std::size_t i) { return static_cast<double>(ends_[i]) <= time; });
}

std::size_t EventLane::first_starting_from(double time, std::size_t from) const {
  return gallop(from, size(), [&](std::size_t i) { return static_cast<double>(starts_[i]) < time; });
}

LaneBucket EventLane::bucket(std::size_t first, std::size_t last) const {
  LaneBucket held;
  for (std::size_t level = 0; first < last; ++level) {
    const bool top = level == levels_.size();
    while (first < last && (top || first % kFanOut != 0)) take(held, node(level, first++));
    while (first < last && last % kFanOut != 0) take(held, node(level, --last));
    first /= kFanOut;
    last /= kFanOut;
  }
  return held;
}

std::size_t EventLane::bytes() const {
  std::size_t sum = starts_.capacity() * sizeof(std::int64_t) + ends_.capacity() * sizeof(std::int64_t) +
                    labels_.capacity() * sizeof(std::uint32_t) + steps_.capacity() * sizeof(std::uint32_t);
  for (const auto& level : levels_) sum += level.capacity() * sizeof(Node);
  return sum;
}

}  // namespace plimsoll::gui
