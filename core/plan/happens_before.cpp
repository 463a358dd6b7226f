#include "core/plan/happens_before.h"

#include <algorithm>

namespace plimsoll {

HappensBefore::HappensBefore(const Platform& platform)
    : queue_lane_(platform.queues.size(), kNone),
      last_(platform.queues.size(), kNone),
      wide_lanes_(platform.queues.size()) {
  for (std::size_t i = 0; i < platform.queues.size(); ++i) {
    width_.push_back(platform.queues[i].width);
    if (width_.back() == 1) queue_lane_[i] = lane_count_++;
  }
  last_in_lane_.assign(lane_count_, kNone);
}

void HappensBefore::reserve(std::size_t instructions) {
  nodes_.reserve(instructions);
  clocks_.reserve(instructions * ((lane_count_ + kGroup - 1) / kGroup * kGroup));
}

void HappensBefore::widen(std::uint32_t lanes) {
  const std::uint32_t size = (lanes + kGroup - 1) / kGroup * kGroup;
  if (size <= open_size_) return;
  clocks_.resize(open_clock_ + size, 0);
  open_size_ = size;
}

void HappensBefore::merge(const Node& earlier) {
  if (earlier.clock_size > open_size_) widen(earlier.clock_size);
  const std::uint32_t* from = clocks_.data() + earlier.clock;
  std::uint32_t* to = clocks_.data() + open_clock_;
  for (std::uint32_t group = 0; group < earlier.clock_size; group += kGroup) {
    for (std::uint32_t i = 0; i < kGroup; ++i) to[group + i] = std::max(to[group + i], from[group + i]);
  }
}

void HappensBefore::begin(QueueId queue, std::span<const QueueId> members) {
  open_queue_ = queue;
  open_members_.assign(members.begin(), members.end());
  open_clock_ = clocks_.size();
  open_size_ = 0;
  widen(std::max(lane_count_, 1u));
  if (last_[queue.index] != kNone) merge(nodes_[last_[queue.index]]);
  for (const QueueId member : members) {
    if (last_[member.index] != kNone) merge(nodes_[last_[member.index]]);
  }
}

std::uint32_t HappensBefore::chain_lane() {
  std::vector<std::uint32_t>& lanes = wide_lanes_[open_queue_.index];
  for (const std::uint32_t lane : lanes) {
    if (ordered(last_in_lane_[lane])) return lane;
  }
  lanes.push_back(lane_count_++);
  last_in_lane_.push_back(kNone);
  widen(lane_count_);
  return lanes.back();
}

std::uint32_t HappensBefore::end() {
  const auto position = static_cast<std::uint32_t>(nodes_.size());
  const bool wide = width_[open_queue_.index] != 1;
  const std::uint32_t lane = wide ? chain_lane() : queue_lane_[open_queue_.index];
  last_in_lane_[lane] = position;
  clocks_[open_clock_ + lane] = position + 1;
  if (!wide) last_[open_queue_.index] = position;
  for (const QueueId member : open_members_) {
    if (width_[member.index] == 1) last_[member.index] = position;
  }
  nodes_.push_back({open_clock_, open_size_, lane});
  return position;
}

std::uint32_t HappensBefore::add(QueueId queue, std::span<const QueueId> members,
                                 std::span<const std::uint32_t> dependencies) {
  begin(queue, members);
  for (const std::uint32_t dependency : dependencies) depend(dependency);
  return end();
}

}  // namespace plimsoll
