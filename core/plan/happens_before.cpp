#include "core/plan/happens_before.h"

#include <algorithm>

namespace plimsoll {

HappensBefore::HappensBefore(const Platform& platform) {
  for (const Queue& queue : platform.queues) {
    queue_lane_.push_back(queue.width == 1 ? static_cast<std::uint32_t>(last_in_lane_.size()) : kNoLane);
    if (queue.width == 1) last_in_lane_.push_back(kNone);
  }
  stride_ = std::max<std::size_t>(1, (last_in_lane_.size() + kGroup - 1) / kGroup) * kGroup;
}

void HappensBefore::reserve(std::size_t instructions) {
  lanes_.reserve(instructions);
  dependents_.reserve(instructions);
  if (clocks_.size() < instructions * stride_) clocks_.resize(instructions * stride_, 0);
}

void HappensBefore::merge(std::uint32_t earlier) {
  const std::int32_t* __restrict from = clock_of(earlier);
  std::int32_t* __restrict to = clocks_.data() + lanes_.size() * stride_;
  for (std::size_t group = 0; group < stride_; group += kGroup) {
    for (std::size_t i = 0; i < kGroup; ++i)
      to[group + i] = from[group + i] > to[group + i] ? from[group + i] : to[group + i];
  }
}

void HappensBefore::begin(QueueId queue, std::span<const QueueId> members) {
  const std::uint32_t own = queue_lane_[queue.index];
  open_lane_ = own;
  open_members_ = members;
  if (clocks_.size() < (lanes_.size() + 1) * stride_) clocks_.resize(2 * clocks_.size() + stride_, 0);
  if (own != kNoLane && last_in_lane_[own] != kNone) merge(last_in_lane_[own]);
  for (const QueueId member : members) {
    const std::uint32_t lane = queue_lane_[member.index];
    if (lane != kNoLane && last_in_lane_[lane] != kNone) merge(last_in_lane_[lane]);
  }
}

void HappensBefore::depend(std::uint32_t earlier) {
  merge(earlier);
  if (lanes_[earlier] == kNoLane) add_dependent(earlier);
}

/// Of the dependents on one lane the first is enough.
void HappensBefore::add_dependent(std::uint32_t earlier) {
  const std::uint32_t lane = open_lane_;
  for (std::uint32_t d = dependents_[earlier]; d != kNone && lane != kNoLane; d = dependent_pool_[d].next) {
    if (dependent_pool_[d].lane == lane) return;
  }
  dependent_pool_.push_back({static_cast<std::uint32_t>(lanes_.size()), lane, dependents_[earlier]});
  dependents_[earlier] = static_cast<std::uint32_t>(dependent_pool_.size() - 1);
}

std::uint32_t HappensBefore::end() {
  const auto position = static_cast<std::uint32_t>(lanes_.size());
  const std::uint32_t own = open_lane_;
  if (own != kNoLane) {
    clocks_[position * stride_ + own] = ended(position);
    last_in_lane_[own] = position;
  }
  for (const QueueId member : open_members_) {
    const std::uint32_t lane = queue_lane_[member.index];
    if (lane != kNoLane) last_in_lane_[lane] = position;
  }
  lanes_.push_back(own);
  dependents_.push_back(kNone);
  return position;
}

/// An instruction without a lane has ended before `later` starts when one of its direct dependents is `later` or has.
bool HappensBefore::released(std::uint32_t earlier, std::uint32_t later) const {
  bool others = false;
  for (std::uint32_t d = dependents_[earlier]; d != kNone; d = dependent_pool_[d].next) {
    if (has_ended(dependent_pool_[d], later)) return true;
    others = others || dependent_pool_[d].lane == kNoLane;
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
    for (std::uint32_t d = dependents_[from]; d != kNone; d = dependent_pool_[d].next) {
      const Dependent& dependent = dependent_pool_[d];
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
