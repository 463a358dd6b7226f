// The part of StepLowering that lets the device update blocks whose states wait elsewhere (Strategy::device_update_blocks).
//
// States come to staging memory on the device, are updated there and go back. A gradient that waits elsewhere comes with them;
// one that stays on the device never leaves it. Between the device and a drive that does not reach it lies host memory.
#include <utility>

#include "sim/planner/step_lowering.h"

namespace plimsoll {

SpaceId StepLowering::updating_space(GroupId group) const { return updated_on_host(group) ? places_.host : places_.device; }

BufferId StepLowering::passing_buffer(BufferId like, std::string_view where_to, SpaceId space) {
  const Buffer of = plan_.at(like);
  return book_.add({.name = book_.name("{}, {}", of.name, where_to), .space = space, .bytes = of.bytes, .category = of.category});
}

Range StepLowering::stage(const Range& stored, SpaceId where) {
  Range source = stored;
  const bool on_drive = plan_.at(stored.buffer).space == places_.ssd;
  if (on_drive && (where == places_.host || !places_.reads_directly)) {
    const BufferId staged = passing_buffer(stored.buffer, "staged", places_.host);
    out_.copy(*places_.ssd_read, InstructionKind::kRead, source, out_.whole(staged));
    come_ahead(staged);
    source = out_.whole(staged);
  }
  if (where == places_.host) return source;
  const BufferId arrived = passing_buffer(stored.buffer, "on the device", where);
  copy_to_device(source, out_.whole(arrived));
  come_ahead(arrived);
  return out_.whole(arrived);
}

void StepLowering::put_back(BufferId updated, BufferId stored) {
  const SpaceId from = plan_.at(updated).space, to = plan_.at(stored).space;
  if (to == places_.device) {
    out_.copy(places_.h2d, InstructionKind::kCopy, out_.whole(updated), out_.whole(stored));
    return;
  }
  BufferId passing = updated;
  if (from == places_.device && (to == places_.host || !places_.writes_directly)) {
    passing = to == places_.host ? stored : passing_buffer(stored, "leaving", places_.host);
    out_.copy(places_.d2h, InstructionKind::kCopy, out_.whole(updated), out_.whole(passing));
  }
  if (to != places_.ssd) return;
  out_.copy(*places_.ssd_write, InstructionKind::kWrite, out_.whole(passing), out_.whole(stored));
  if (passing != updated) rotate(leaving_states_, passing);
}

bool StepLowering::send_complete_sum(TensorId sum) {
  const GroupId group = graph_.at(sum).group;
  const BufferId here = holder(sum, 0);
  if (plan_.at(here).space != places_.device) return false;
  const bool comes_back = group.valid() && !updated_on_host(group);
  if (comes_back) work_on_sum(sum, OpKind::kSquaredNorm, places_.device);
  if (comes_back && plan_.strategy.update_in_backward) still_here_ = {sum, here};
  send_to_host(sum, 0);
  return comes_back;
}

Range StepLowering::gradient_on_device(TensorId sum) {
  if (still_here_.first == sum) return out_.whole(std::exchange(still_here_, {}).second);
  const BufferId stored = holder(sum, 0);
  return plan_.at(stored).space == places_.device ? out_.whole(stored) : stage(out_.whole(stored), places_.device);
}

}  // namespace plimsoll
