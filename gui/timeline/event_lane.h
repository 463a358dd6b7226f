#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll::gui {

/// One box of a lane: [start, end) in nanoseconds, what it is, and of which step.
struct LaneEvent {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint32_t label = 0;
  std::uint32_t step = 0;
};

/// What a stretch of a lane holds.
struct LaneBucket {
  static constexpr std::uint32_t kNone = 0xffffffffu;

  std::uint32_t longest = kNone;  ///< event of the longest duration, of equal ones the first
  std::int64_t busy = 0;          ///< sum of the durations
};

/// Events that do not overlap, in order of time, under a forest of summaries: what any stretch holds is found in
/// O(log n), so that a row of pixels costs the same whatever lies under it. About 25 bytes an event.
class EventLane {
 public:
  void reserve(std::size_t events);
  /// Adds an event that overlaps none of the lane's; mostly one behind the last.
  void add(const LaneEvent& event);
  /// Puts the events in order of time and builds the forest; called once after the last event.
  void finish();

  [[nodiscard]] std::size_t size() const { return starts_.size(); }
  [[nodiscard]] std::int64_t start(std::size_t i) const { return starts_[i]; }
  [[nodiscard]] std::int64_t end(std::size_t i) const { return ends_[i]; }
  [[nodiscard]] std::int64_t duration(std::size_t i) const { return ends_[i] - starts_[i]; }
  [[nodiscard]] std::uint32_t label(std::size_t i) const { return labels_[i]; }
  [[nodiscard]] std::uint32_t step(std::size_t i) const { return steps_[i]; }
  [[nodiscard]] LaneEvent at(std::size_t i) const { return {starts_[i], ends_[i], labels_[i], steps_[i]}; }

  /// The first event that ends after `time`, looked for from event `from` on.
  [[nodiscard]] std::size_t first_ending_after(double time, std::size_t from = 0) const;
  /// The first event that starts at `time` or later, looked for from event `from` on.
  [[nodiscard]] std::size_t first_starting_from(double time, std::size_t from = 0) const;
  /// What the events [first, last) hold.
  [[nodiscard]] LaneBucket bucket(std::size_t first, std::size_t last) const;

  /// Memory that the lane occupies.
  [[nodiscard]] std::size_t bytes() const;

 private:
  static constexpr std::size_t kFanOut = 16;

  void sort_events();
  struct Node {
    std::int64_t busy = 0;
    std::uint32_t longest = 0;
  };
  [[nodiscard]] Node node(std::size_t level, std::size_t i) const;
  void take(LaneBucket& bucket, const Node& node) const;

  std::vector<std::int64_t> starts_;
  std::vector<std::int64_t> ends_;
  std::vector<std::uint32_t> labels_;
  std::vector<std::uint32_t> steps_;
  std::vector<std::vector<Node>> levels_;  ///< a node stands for kFanOut of the level below; whole ones only
};

}  // namespace plimsoll::gui
