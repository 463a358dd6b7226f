#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/expand.h"

namespace plimsoll {

/// Answers "has a ended before b starts, whatever the durations?" for a program fed in id order, by vector clocks.
/// Each queue of width 1 is a lane: its instructions are a chain. An instruction's clock holds, for each lane, the
/// newest instruction that has ended before it starts (or is itself). A wider queue orders only what its dependencies
/// order, so its instructions are no chain and have no lane; each knows what depends on it directly, and has ended
/// before whatever one of those has ended before. Clocks so are as long as there are width-1 queues, however much a
/// wide queue has open.
class HappensBefore {
 public:
  static constexpr std::uint32_t kNoLane = 0xffffffffu;

  explicit HappensBefore(const Platform& platform);

  /// Adds the next instruction. `dependencies` are positions given by earlier calls. Returns its position (0, 1, …),
  /// which stays below 2³¹.
  std::uint32_t add(QueueId queue, std::span<const QueueId> members, std::span<const std::uint32_t> dependencies);

  /// The same in pieces, for those who find dependencies while they look at the order: begin, depend …, end. In between
  /// the instruction's position is size(), and `ordered` knows what is known of it so far. Without `keep` its clock is
  /// forgotten: later instructions cannot depend on it but by their queue.
  void begin(QueueId queue, std::span<const QueueId> members);
  void depend(std::uint32_t earlier) {
    merge(clock_of(earlier), lane_clocks_.data() + open_clock_);
    if (nodes_[earlier].lane == kNoLane) add_dependent(earlier);
  }
  std::uint32_t end(bool keep = true);

  /// True when `earlier` ends before `later` starts in every run; earlier < later. `later` is a kept instruction or the
  /// one between `begin` and `end`.
  [[nodiscard]] bool ordered(std::uint32_t earlier, std::uint32_t later) const {
    const Node& node = nodes_[earlier];
    return node.lane != kNoLane ? clock_of(later)[node.lane] >= ended(earlier) : released(earlier, later);
  }

  /// The same for the instruction between `begin` and `end` as the later one, when the earlier one's lane is known.
  [[nodiscard]] bool ordered_before_open(std::uint32_t earlier, std::uint32_t lane) const {
    if (lane == kNoLane) return released(earlier, static_cast<std::uint32_t>(nodes_.size()));
    return lane_clocks_[open_clock_ + lane] >= ended(earlier);
  }

  /// The lane of a queue, or kNoLane.
  [[nodiscard]] std::uint32_t lane(QueueId queue) const { return queue_lane_[queue.index]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// Makes room for that many instructions, of which so many are kept.
  void reserve(std::size_t instructions, std::size_t kept) {
    nodes_.reserve(instructions);
    kept_clocks_.reserve(kept * stride_);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  /// Clocks are whole groups of lanes, and signed, so that merging them is a few vector instructions.
  static constexpr std::uint32_t kGroup = 8;

  struct Node {
    std::uint32_t lane = kNoLane;
    std::uint32_t clock = kNone;       ///< number of its kept clock
    std::uint32_t dependents = kNone;  ///< list in dependents_; only of those without a lane
  };
  struct Dependent {
    std::uint32_t position = 0;
    std::uint32_t lane = kNoLane;
    std::uint32_t next = kNone;
  };

  /// How a clock writes that an instruction has ended; 0 is for none.
  static std::int32_t ended(std::uint32_t position) { return static_cast<std::int32_t>(position) + 1; }
  [[nodiscard]] const std::int32_t* clock_of(std::uint32_t position) const {
    if (position == nodes_.size()) return lane_clocks_.data() + open_clock_;
    return kept_clocks_.data() + nodes_[position].clock * stride_;
  }
  void merge(const std::int32_t* from, std::int32_t* __restrict to) const {
    for (std::size_t group = 0; group < stride_; group += kGroup) {
      for (std::size_t i = group; i < group + kGroup; ++i) to[i] = std::max(to[i], from[i]);
    }
  }
  void add_dependent(std::uint32_t earlier);
  [[nodiscard]] bool released(std::uint32_t earlier, std::uint32_t later) const;
  [[nodiscard]] bool released_through_others(std::uint32_t earlier, std::uint32_t later) const;
  [[nodiscard]] bool has_ended(const Dependent& dependent, std::uint32_t later) const {
    if (dependent.position == later) return true;
    return dependent.lane != kNoLane && clock_of(later)[dependent.lane] >= ended(dependent.position);
  }

  std::vector<std::uint32_t> queue_lane_;  ///< by queue; kNoLane for wide ones
  std::size_t stride_ = kGroup;            ///< of clocks
  std::vector<std::int32_t>
      lane_clocks_;  ///< by lane: the clock of its newest instruction; one more row for those without
  std::vector<std::int32_t> kept_clocks_;
  std::vector<Node> nodes_;
  std::vector<Dependent> dependents_;
  // The instruction between begin and end; its members are the caller's and stay until then.
  std::uint32_t open_lane_ = kNoLane;
  std::size_t open_clock_ = 0;  ///< where its clock grows, in lane_clocks_
  std::span<const QueueId> open_members_;
};

/// The clock starts as that of the instruction before in the lane, where it lies already.
inline void HappensBefore::begin(QueueId queue, std::span<const QueueId> members) {
  open_lane_ = queue_lane_[queue.index];
  open_members_ = members;
  const std::size_t last_row = lane_clocks_.size() - stride_;
  open_clock_ = open_lane_ != kNoLane ? open_lane_ * stride_ : last_row;
  std::int32_t* const clock = lane_clocks_.data() + open_clock_;
  if (open_lane_ == kNoLane) std::fill_n(clock, stride_, 0);
  for (const QueueId member : members) {
    const std::uint32_t lane = queue_lane_[member.index];
    if (lane != kNoLane && lane != open_lane_) merge(lane_clocks_.data() + lane * stride_, clock);
  }
}

inline std::uint32_t HappensBefore::end(bool keep) {
  const auto position = static_cast<std::uint32_t>(nodes_.size());
  std::int32_t* const clock = lane_clocks_.data() + open_clock_;
  if (open_lane_ != kNoLane) clock[open_lane_] = ended(position);
  for (const QueueId member : open_members_) {
    const std::uint32_t lane = queue_lane_[member.index];
    if (lane != kNoLane && lane != open_lane_) std::copy_n(clock, stride_, lane_clocks_.data() + lane * stride_);
  }
  nodes_.push_back({open_lane_, keep ? static_cast<std::uint32_t>(kept_clocks_.size() / stride_) : kNone, kNone});
  if (keep) kept_clocks_.insert(kept_clocks_.end(), clock, clock + stride_);
  return position;
}

}  // namespace plimsoll
