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
                            .access = use.access});
  }
  for (const std::uint32_t micro_batch : program.body.micro_batches) {
    program.micro_batches = std::max(program.micro_batches, micro_batch + 1);
  }
  return program;
}

}  // namespace plimsoll
