#include "core/plan/happens_before.h"

#include <algorithm>

namespace plimsoll {

HappensBefore::HappensBefore(const Platform& platform) {
  std::uint32_t lanes = 0;
  for (const Queue& queue : platform.queues) queue_lane_.push_back(queue.width == 1 ? lanes++ : kNoLane);
  stride_ = std::max(1u, (lanes + kGroup - 1) / kGroup) * kGroup;
  lane_clocks_.assign((lanes + 1) * stride_, 0);
}

void HappensBefore::merge(const std::int32_t* from) {
  std::int32_t* __restrict to = lane_clocks_.data() + open_clock_;
  for (std::size_t group = 0; group < stride_; group += kGroup) {
    for (std::size_t i = group; i < group + kGroup; ++i) to[i] = std::max(to[i], from[i]);
  }
}

/// The clock starts as that of the instruction before in the lane, where it lies already.
void HappensBefore::begin(QueueId queue, std::span<const QueueId> members) {
  open_lane_ = queue_lane_[queue.index];
  open_members_ = members;
  const std::size_t last_row = lane_clocks_.size() - stride_;
  open_clock_ = open_lane_ != kNoLane ? open_lane_ * stride_ : last_row;
  if (open_lane_ == kNoLane) std::fill_n(lane_clocks_.begin() + static_cast<std::ptrdiff_t>(last_row), stride_, 0);
  for (const QueueId member : members) {
    const std::uint32_t lane = queue_lane_[member.index];
    if (lane != kNoLane && lane != open_lane_) merge(lane_clocks_.data() + lane * stride_);
  }
}

void HappensBefore::depend(std::uint32_t earlier) {
  merge(clock_of(earlier));
  if (nodes_[earlier].lane == kNoLane) add_dependent(earlier);
}

/// Of the dependents on one lane the first is enough.
void HappensBefore::add_dependent(std::uint32_t earlier) {
  std::uint32_t& head = nodes_[earlier].dependents;
  for (std::uint32_t d = head; d != kNone && open_lane_ != kNoLane; d = dependents_[d].next) {
    if (dependents_[d].lane == open_lane_) return;
  }
  dependents_.push_back({static_cast<std::uint32_t>(nodes_.size()), open_lane_, head});
  head = static_cast<std::uint32_t>(dependents_.size() - 1);
}

std::uint32_t HappensBefore::end(bool keep) {
  const auto position = static_cast<std::uint32_t>(nodes_.size());
  std::int32_t* const clock = lane_clocks_.data() + open_clock_;
  if (open_lane_ != kNoLane) clock[open_lane_] = ended(position);
  for (const QueueId member : open_members_) {
    const std::uint32_t lane = queue_lane_[member.index];
    if (lane != kNoLane && lane != open_lane_) std::copy_n(clock, stride_, lane_clocks_.data() + lane * stride_);
  }
  nodes_.push_back({open_lane_, kNone, kNone});
  if (keep) {
    nodes_.back().clock = static_cast<std::uint32_t>(kept_clocks_.size() / stride_);
    kept_clocks_.insert(kept_clocks_.end(), clock, clock + stride_);
  }
  return position;
}

/// An instruction without a lane has ended before `later` starts when one of its direct dependents is `later` or has.
bool HappensBefore::released(std::uint32_t earlier, std::uint32_t later) const {
  bool others = false;
  for (std::uint32_t d = nodes_[earlier].dependents; d != kNone; d = dependents_[d].next) {
    if (has_ended(dependents_[d], later)) return true;
    others = others || dependents_[d].lane == kNoLane;
  }
  return others && released_through_others(earlier, later);
}

/// The rare rest: a path that begins with several instructions without a lane, found by searching along these.
bool HappensBefore::released_through_others(std::uint32_t earlier, std::uint32_t later) const {
  std::vector<std::uint32_t> pending{earlier};
  std::vector<bool> seen(later - earlier, false);
  while (!pending.empty()) {
    const std::uint32_t from = pending.back();
    pending.pop_back();
    for (std::uint32_t d = nodes_[from].dependents; d != kNone; d = dependents_[d].next) {
      const Dependent& dependent = dependents_[d];
      if (has_ended(dependent, later)) return true;
      if (dependent.lane != kNoLane || dependent.position > later || seen[dependent.position - earlier]) continue;
      seen[dependent.position - earlier] = true;
      pending.push_back(dependent.position);
    }
  }
  return false;
}

std::uint32_t HappensBefore::add(QueueId queue, std::span<const QueueId> members,
                                 std::span<const std::uint32_t> dependencies) {
  begin(queue, members);
  for (const std::uint32_t dependency : dependencies) depend(dependency);
  return end();
}

}  // namespace plimsoll
