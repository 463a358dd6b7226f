#include "executor/cpu/program.h"

#include <algorithm>

namespace plimsoll {

Program make_program(const Plan& plan, const Body& body, const ArenaSet& arenas) {
  Program program{.body = expand(plan, body), .uses = {}, .micro_batches = 0};
  program.uses.reserve(program.body.list.uses.size());
  for (const Use& use : program.body.list.uses) {
    const Buffer& buffer = plan.buffers[use.target];
    Drive* drive = arenas.drive(buffer.space);
    const Bytes offset = buffer.offset + use.offset;
    program.uses.push_back({.base = drive != nullptr ? nullptr : arenas.at(buffer.space, offset),
                            .drive = drive,
                            .offset = offset,
                            .bytes = use.bytes,
                            .pitch = buffer.pitch(),
                            .slots = buffer.slots,
                            .access = use.access,
                            .age = use.age});
  }
  if (plan.ranks > 1 && body.name != "evaluation") {  // those of all ranks; numbers from there on are of later steps
    program.micro_batches = static_cast<std::uint32_t>(plan.recipe.accumulate);
    return program;
  }
  for (const std::uint32_t micro_batch : program.body.micro_batches) {
    program.micro_batches = std::max(program.micro_batches, micro_batch + 1);
  }
  return program;
}

Program at_versions_of(const Plan& plan, const Program& program, std::int64_t step) {
  Program fixed = program;
  for (std::size_t i = 0; i < fixed.uses.size(); ++i) {
    PlacedUse& use = fixed.uses[i];
    if (use.slots == 1 || !plan.buffers[fixed.body.list.uses[i].target].persistent) continue;
    if (use.drive == nullptr) use.base = use.in_step(step);
    use.offset = use.offset_in_step(step);
    use.slots = 1;
    use.age = 0;
  }
  return fixed;
}

}  // namespace plimsoll
