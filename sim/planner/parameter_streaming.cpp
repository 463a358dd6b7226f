// The part of StepLowering that brings streamed weights to the device and drops them again.
#include <algorithm>

#include "sim/planner/step_lowering.h"

namespace plimsoll {

bool StepLowering::is_streamed(GroupId group) const {
  return plan_.at(state_[group.index].parameters).space != places_.device;
}

void StepLowering::fetch_parameters(const std::vector<std::size_t>& ops) {
  if (plan_.strategy.parameters == Tier::kDevice) return;
  const auto of_group = [](std::vector<Fetched>& list, GroupId group) {
    return std::find_if(list.begin(), list.end(), [&](const Fetched& one) { return one.group == group; });
  };
  fetching_.clear();
  for (const std::size_t i : ops) {
    for (const Operand& operand : graph_.ops[i].operands) {
      const Tensor& tensor = graph_.at(operand.tensor);
      if (tensor.kind != TensorKind::kParameter || !is_streamed(tensor.group)) continue;
      if (of_group(fetching_, tensor.group) == fetching_.end())
        fetching_.push_back({tensor.group, {}, whole_of(operand.tensor)});
    }
  }
  std::sort(fetching_.begin(), fetching_.end(), [](const Fetched& a, const Fetched& b) { return a.group < b.group; });
  for (Fetched& next : fetching_) {
    const auto known = of_group(on_device_, next.group);
    next.buffer = known != on_device_.end() ? known->buffer : fetch_group(next.group);
    if (known == on_device_.end()) shared_[next.tensor.index] = next.buffer;
  }
  std::swap(on_device_, fetching_);
}

BufferId StepLowering::fetch_group(GroupId group) {
  Range source = out_.before(state_[group.index].parameters);
  const Buffer stored = plan_.at(source.buffer);
  const auto arriving = [&](SpaceId space) {
    return book_.add({.name = book_.name("{}, streamed", stored.name),
                      .space = space,
                      .bytes = stored.bytes,
                      .category = TensorKind::kParameter});
  };
  const std::int64_t ahead = plan_.strategy.staging_slots - 1;
  if (stored.space == places_.ssd && !places_.reads_directly) {
    const BufferId staged = arriving(places_.host);
    out_.copy(*places_.ssd_read, InstructionKind::kRead, source, out_.whole(staged));
    reach_back(staged, 2 * ahead);
    source = out_.whole(staged);
  }
  const BufferId device = arriving(places_.device);
  copy_to_device(source, out_.whole(device));
  reach_back(device, ahead);
  return device;
}

void StepLowering::copy_to_device(const Range& source, const Range& device) {
  const bool from_drive = plan_.at(source.buffer).space == places_.ssd;
  if (from_drive) out_.copy(*places_.ssd_read, InstructionKind::kRead, source, device);
  else out_.copy(places_.h2d, InstructionKind::kCopy, source, device);
}

void StepLowering::reach_back(BufferId buffer, std::int64_t runs) {
  const auto last = static_cast<std::int64_t>(run_starts_.size()) - 1;
  book_.touch(buffer, run_starts_[static_cast<std::size_t>(std::max<std::int64_t>(0, last - runs))]);
}

}  // namespace plimsoll
