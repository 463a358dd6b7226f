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
    versions_[group] = book_.add({.name = fmt::format("older weights of {}", graph_.parameters.at(group).name),
                                  .space = places_.device,
                                  .bytes = plan_.at(of.parameters).bytes,
                                  .category = TensorKind::kParameter,
                                  .persistent = slots == 1,  // those of several slots last as it is
                                  .slots = slots});
  }
}

std::uint32_t RankLowering::versions_back(GroupId group) const {
  if (!owns(group)) return steady_.shared_lag();
  return backward_ ? steady_.backward_lag(place_) : steady_.forward_lag(place_, now_);
}

/// The oldest version lies in the slot that this step is to write, and does so in the end.
std::optional<Range> RankLowering::older_weights(TensorId tensor) const {
  const Tensor& of = graph_.at(tensor);
  if (of.kind != TensorKind::kParameter || !is_steady() || fills_) return std::nullopt;
  const auto found = versions_.find(of.group);
  if (found == versions_.end() || versions_back(of.group) == 0) return std::nullopt;
  Range range = part_of_tensor(tensor, found->second);
  range.age = versions_back(of.group) % plan_.at(found->second).slots;
  return range;
}

void RankLowering::keep_version(std::uint32_t age) {
  for (const auto& [group, buffer] : versions_) {
    if (age >= plan_.at(buffer).slots || (!owns(group) && !fills_)) continue;
    out_.begin_segment("keep weights", 0, graph_.parameters.at(group).block);
    out_.set_phase(Phase::kOptimizer);
    Range kept = out_.whole(buffer);
    kept.age = age;
    out_.copy(places_.compute, InstructionKind::kCopy, out_.whole(groups_.at(group).parameters), kept);
  }
}

}  // namespace plimsoll
