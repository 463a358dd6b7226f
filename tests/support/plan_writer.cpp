#include "tests/support/plan_writer.h"

#include <algorithm>

#include "tests/support/tiny_platform.h"

namespace plimsoll::test {

PlanWriter::PlanWriter() {
  plan_.platform = tiny_platform();
  plan_.spec.name = "hand-written";
}

BufferId PlanWriter::buffer(std::string name, std::string_view space, Bytes offset, Bytes bytes, std::uint32_t slots,
                            bool persistent) {
  const SpaceId where = space_named(plan_.platform, space);
  plan_.buffers.push_back({std::move(name), where, offset, bytes, slots,
                           persistent ? TensorKind::kParameter : TensorKind::kActivation, persistent});
  const Bytes end = align_up(offset + plan_.buffers.back().extent(), kBufferAlignment);
  const auto arena =
      std::find_if(plan_.arenas.begin(), plan_.arenas.end(), [&](const Arena& a) { return a.space == where; });
  if (arena == plan_.arenas.end()) {
    plan_.arenas.push_back({where, end});
  } else {
    arena->bytes = std::max(arena->bytes, end);
  }
  return BufferId(plan_.buffers.size() - 1);
}

KernelId PlanWriter::kernel(OpKind kind) {
  const Kernel wanted{.kind = kind, .dtype = DType::kFp32, .shape = {.rows = 16, .inputs = 16, .outputs = 16}};
  const auto known = std::find(plan_.kernels.begin(), plan_.kernels.end(), wanted);
  if (known != plan_.kernels.end()) return KernelId(static_cast<std::size_t>(known - plan_.kernels.begin()));
  plan_.kernels.push_back(wanted);
  return KernelId(plan_.kernels.size() - 1);
}

std::uint32_t PlanWriter::append(Instruction instruction, const std::vector<BufferUse>& uses,
                                 const std::vector<Dependency>& dependencies, const std::vector<QueueId>& members) {
  InstructionList& list = body_.list;
  instruction.first_use = uses.empty() ? 0 : static_cast<std::uint32_t>(list.uses.size());
  instruction.use_count = static_cast<std::uint32_t>(uses.size());
  instruction.first_dependency = dependencies.empty() ? 0 : static_cast<std::uint32_t>(list.dependencies.size());
  instruction.dependency_count = static_cast<std::uint32_t>(dependencies.size());
  instruction.first_member = members.empty() ? 0 : static_cast<std::uint32_t>(list.members.size());
  instruction.member_count = static_cast<std::uint32_t>(members.size());
  for (const BufferUse& use : uses) {
    const Bytes bytes = use.bytes.count < 0 ? plan_.at(use.buffer).bytes - use.offset : use.bytes;
    list.uses.push_back({use.buffer.index, use.access, use.offset, bytes, use.age});
  }
  list.dependencies.insert(list.dependencies.end(), dependencies.begin(), dependencies.end());
  list.members.insert(list.members.end(), members.begin(), members.end());
  list.instructions.push_back(instruction);
  body_.micro_batches.push_back(0);
  return static_cast<std::uint32_t>(body_.size() - 1);
}

std::uint32_t PlanWriter::launch(std::string_view queue, OpKind kind, Phase phase, const std::vector<BufferUse>& uses,
                                 std::vector<Dependency> dependencies, std::uint32_t guard) {
  return append({.kind = InstructionKind::kLaunch,
                 .phase = phase,
                 .queue = queue_named(plan_.platform, queue),
                 .kernel = kernel(kind),
                 .guard = guard},
                uses, dependencies);
}

std::uint32_t PlanWriter::copy(InstructionKind kind, std::string_view queue, BufferUse from, BufferUse to,
                               std::vector<Dependency> dependencies) {
  from.access = Access::kRead;
  to.access = Access::kWrite;
  return append({.kind = kind, .queue = queue_named(plan_.platform, queue)}, {from, to}, dependencies);
}

std::uint32_t PlanWriter::host_work(HostTask task, const std::vector<BufferUse>& uses,
                                    std::vector<Dependency> dependencies) {
  const bool load = task == HostTask::kLoadTokens;
  return append({.kind = InstructionKind::kHostWork,
                 .phase = load ? Phase::kLoad : Phase::kOptimizer,
                 .task = task,
                 .queue = queue_named(plan_.platform, load ? "data" : "report")},
                uses, dependencies);
}

std::uint32_t PlanWriter::marker(std::string_view queue, std::vector<Dependency> dependencies) {
  return append({.kind = InstructionKind::kMarker, .queue = queue_named(plan_.platform, queue)}, {}, dependencies);
}

Plan PlanWriter::finish(std::uint32_t stretch) const {
  Plan plan = plan_;
  std::vector<Segment> segments;
  const auto size = static_cast<std::uint32_t>(body_.size());
  for (std::uint32_t first = 0; first < size; first += stretch == 0 ? size : stretch) {
    segments.push_back({.first = first, .micro_batch = 0, .layer = -1, .name = "stretch"});
  }
  plan.bodies.push_back(fold(plan, "step", body_, segments));
  return plan;
}

}  // namespace plimsoll::test
