#include "core/plan/happens_before.h"

#include <algorithm>

namespace plimsoll {

HappensBefore::HappensBefore(const Platform& platform) {
  std::uint32_t lanes = 0;
  for (const Queue& queue : platform.queues) queue_lane_.push_back(queue.width == 1 ? lanes++ : kNoLane);
  stride_ = std::max(1u, (lanes + kGroup - 1) / kGroup) * kGroup;
  lane_clocks_.assign((lanes + 1) * stride_, 0);
  open_clock_ = lane_clocks_.size() - stride_;
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
