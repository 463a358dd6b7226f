#include "core/plan/expand.h"

#include <numeric>

namespace plimsoll {
namespace {

std::uint32_t progress(std::uint32_t base, std::int32_t stride, std::uint32_t repetition) {
  return static_cast<std::uint32_t>(base + static_cast<std::int64_t>(stride) * repetition);
}

/// Makes room for all of a body at once, so that writing it out never moves what is written.
void reserve(const Plan& plan, const Body& body, FlatBody& flat) {
  std::size_t instructions = 0, uses = 0, dependencies = 0, members = 0;
  for (const Call& call : body.calls) {
    const InstructionList& list = plan.at(call.block).list;
    instructions += list.instructions.size() * call.repeat;
    uses += list.uses.size() * call.repeat;
    dependencies += list.dependencies.size() * call.repeat;
    members += list.members.size() * call.repeat;
  }
  flat.list.instructions.reserve(instructions);
  flat.list.uses.reserve(uses);
  flat.list.dependencies.reserve(dependencies);
  flat.list.members.reserve(members);
  flat.micro_batches.reserve(instructions);
}

/// Appends one repetition of a call whose first instruction gets the id `origin`.
void append(const InstructionList& block, const Call& call, std::uint32_t repetition, std::uint32_t origin,
            FlatBody& flat) {
  InstructionList& out = flat.list;
  const std::int32_t layer = call.layer + call.layer_stride * static_cast<std::int32_t>(repetition);
  for (const Instruction& relative : block.instructions) {
    Instruction instruction = relative;
    if (relative.layer >= 0) instruction.layer += layer;
    instruction.first_use = static_cast<std::uint32_t>(out.uses.size());
    instruction.first_dependency = static_cast<std::uint32_t>(out.dependencies.size());
    instruction.first_member = static_cast<std::uint32_t>(out.members.size());
    for (std::uint32_t i = 0; i < relative.use_count; ++i) {
      Use use = block.uses[relative.first_use + i];
      const Binding& binding = call.bindings[use.target];
      use.target = progress(binding.base.index, binding.stride, repetition);
      out.uses.push_back(use);
    }
    for (std::uint32_t i = 0; i < relative.dependency_count; ++i) {
      Dependency dependency = block.dependencies[relative.first_dependency + i];
      dependency.target = dependency.local ? origin + dependency.target
                                           : progress(call.ports[dependency.target].base,
                                                      call.ports[dependency.target].stride, repetition);
      dependency.local = true;
      out.dependencies.push_back(dependency);
    }
    for (std::uint32_t i = 0; i < relative.member_count; ++i)
      out.members.push_back(block.members[relative.first_member + i]);
    // Without uses (or others) a range is empty wherever it begins; 0 makes equal instructions compare equal.
    if (relative.use_count == 0) instruction.first_use = 0;
    if (relative.dependency_count == 0) instruction.first_dependency = 0;
    if (relative.member_count == 0) instruction.first_member = 0;
    out.instructions.push_back(instruction);
    flat.micro_batches.push_back(call.micro_batch);
  }
}

}  // namespace

std::size_t instruction_count(const Plan& plan, const Body& body) {
  return std::accumulate(body.calls.begin(), body.calls.end(), std::size_t{0},
                         [&plan](std::size_t sum, const Call& call) {
                           return sum + plan.at(call.block).list.instructions.size() * call.repeat;
                         });
}

FlatBody expand(const Plan& plan, const Body& body) {
  FlatBody flat;
  reserve(plan, body, flat);
  for (const Call& call : body.calls) {
    const InstructionList& block = plan.at(call.block).list;
    for (std::uint32_t repetition = 0; repetition < call.repeat; ++repetition) {
      append(block, call, repetition, static_cast<std::uint32_t>(flat.size()), flat);
    }
  }
  return flat;
}

}  // namespace plimsoll
