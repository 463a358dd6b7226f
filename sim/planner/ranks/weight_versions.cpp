// The part of RankLowering that keeps older versions of weights for passes that began with them.
//
// The newest version lies where a state lies, is updated in place, saved and evaluated. Before an update it is copied into the
// oldest of the older ones' slots, which no pass reads any more.
#include <fmt/format.h>

#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {

void RankLowering::reserve_versions() {
  for (const auto& [group, of] : groups_) {
    const std::uint32_t slots = owns(group) ? steady_.older_versions(place_) : steady_.shared_lag();
    if (slots == 0) continue;
    const std::uint32_t buffers = version_buffers(slots), each = (slots + buffers - 1) / buffers;
    for (std::uint32_t i = 0; i < buffers; ++i) {
      versions_[group].push_back(
          book_.add({.name = fmt::format("older weights of {}", graph_.parameters.at(group).name),
                     .space = places_.device,
                     .bytes = plan_.at(of.parameters).bytes,
                     .category = TensorKind::kParameter,
                     .persistent = each == 1,  // those of several slots last as it is
                     .slots = each}));
    }
  }
}

/// Slots are of steps, so where several updates of a step leave versions that live at once, each has a buffer of its
/// own.
std::uint32_t RankLowering::version_buffers(std::uint32_t versions) const {
  const std::uint32_t updates = steady_.updates(place_);
  std::uint32_t buffers = 1;
  while (buffers < updates && (buffers < versions || updates % buffers != 0)) ++buffers;
  return buffers;
}

std::uint32_t RankLowering::versions_back(GroupId group) const {
  if (!owns(group)) return steady_.shared_lag();
  return backward_ ? steady_.backward_lag(place_, now_) : steady_.forward_lag(place_, now_);
}

/// The oldest version lies in the slot that this step is to write, and does so in the end.
std::optional<Range> RankLowering::older_weights(TensorId tensor) const {
  const Tensor& of = graph_.at(tensor);
  if (of.kind != TensorKind::kParameter || !is_steady() || fills_) return std::nullopt;
  const auto found = versions_.find(of.group);
  const std::uint32_t back = versions_back(of.group);
  if (found == versions_.end() || back == 0) return std::nullopt;
  const std::uint32_t updates = steady_.updates(place_);  // in a step
  const std::uint32_t steps = back > updates_done_ ? (back - updates_done_ + updates - 1) / updates : 0;
  const std::uint32_t update = steps * updates + updates_done_ - back;  // before which of that step's it was the newest
  const BufferId buffer = found->second[update % found->second.size()];
  Range range = part_of_tensor(tensor, buffer);
  range.age = steps % plan_.at(buffer).slots;
  return range;
}

void RankLowering::keep_version(std::uint32_t age) {
  for (const auto& [group, buffers] : versions_) {
    if (age >= plan_.at(buffers.front()).slots || (!owns(group) && !fills_)) continue;
    out_.begin_segment("keep weights", 0, graph_.parameters.at(group).block);
    out_.set_phase(Phase::kOptimizer);
    const std::size_t first = fills_ ? 0 : updates_done_ % buffers.size(), end = fills_ ? buffers.size() : first + 1;
    for (std::size_t i = first; i < end; ++i) {
      Range kept = out_.whole(buffers[i]);
      kept.age = age;
      out_.copy(places_.compute, InstructionKind::kCopy, out_.whole(groups_.at(group).parameters), kept);
    }
  }
}

}  // namespace plimsoll
