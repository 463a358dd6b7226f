#include "sim/inference/pass_body.h"

namespace plimsoll {
namespace {

constexpr const char* kSpaceNames[] = {"gpu0", "host", "ssd"};

const char* copy_queue(SpaceKind from, SpaceKind to) {
  if (from == SpaceKind::kSsd) return "ssd.read";
  if (to == SpaceKind::kSsd) return "ssd.write";
  return from == SpaceKind::kHost ? "h2d" : "d2h";
}

InstructionKind copy_kind(SpaceKind from, SpaceKind to) {
  if (from == SpaceKind::kSsd) return InstructionKind::kRead;
  return to == SpaceKind::kSsd ? InstructionKind::kWrite : InstructionKind::kCopy;
}

}  // namespace

PassBody::PassBody(const Platform& platform, bool overlap) : overlap_(overlap) {
  plan_.platform = platform;
  for (const SpaceKind kind : {SpaceKind::kDevice, SpaceKind::kHost, SpaceKind::kSsd}) {
    const SpaceId space = platform.space(kind).value_or(SpaceId(0));
    plan_.buffers.push_back({.name = kSpaceNames[static_cast<std::size_t>(kind)], .space = space});
  }
  block_.name = "pass";
  block_.slot_count = 3;
}

QueueId PassBody::queue(const char* name) const { return plan_.platform.queue(name).value_or(QueueId(0)); }

std::uint32_t PassBody::append(Instruction instruction, const std::vector<std::uint32_t>& after) {
  InstructionList& list = block_.list;
  const auto id = static_cast<std::uint32_t>(list.instructions.size());
  instruction.first_dependency = static_cast<std::uint32_t>(list.dependencies.size());
  for (const std::uint32_t other : barrier_) list.dependencies.push_back({.target = other});
  for (const std::uint32_t other : after) list.dependencies.push_back({.target = other});
  if (!overlap_ && id > 0) list.dependencies.push_back({.target = id - 1});
  instruction.dependency_count = static_cast<std::uint32_t>(list.dependencies.size()) - instruction.first_dependency;
  list.instructions.push_back(instruction);
  round_.push_back(id);
  return id;
}

std::uint32_t PassBody::launch(const char* name, const Kernel& kernel, const std::vector<std::uint32_t>& after) {
  const auto [known, is_new] = kernels_.try_emplace(kernel, KernelId(plan_.kernels.size()));
  if (is_new) plan_.kernels.push_back(kernel);
  Instruction instruction;
  instruction.kind = InstructionKind::kLaunch;
  instruction.queue = queue(name);
  instruction.kernel = known->second;
  return append(instruction, after);
}

std::uint32_t PassBody::copy(SpaceKind from, SpaceKind to, Bytes bytes, const std::vector<std::uint32_t>& after) {
  Instruction instruction;
  instruction.kind = copy_kind(from, to);
  instruction.queue = queue(copy_queue(from, to));
  instruction.first_use = static_cast<std::uint32_t>(block_.list.uses.size());
  instruction.use_count = 2;
  block_.list.uses.push_back({static_cast<std::uint32_t>(from), Access::kRead, Bytes(0), bytes});
  block_.list.uses.push_back({static_cast<std::uint32_t>(to), Access::kWrite, Bytes(0), bytes});
  return append(instruction, after);
}

void PassBody::add_stream(const char* name) {
  Queue queue = plan_.platform.at(*plan_.platform.queue("compute"));
  queue.name = name;
  plan_.platform.queues.push_back(std::move(queue));
}

std::uint32_t PassBody::stage(Bytes bytes, const std::vector<std::uint32_t>& after) {
  return host(HostTask::kLoadTokens, bytes, after);
}

std::uint32_t PassBody::work_on_host(Nanoseconds duration, const std::vector<std::uint32_t>& after) {
  return host(HostTask::kReportLoss, Bytes(duration.count), after);
}

std::uint32_t PassBody::host(HostTask task, Bytes bytes, const std::vector<std::uint32_t>& after) {
  Instruction instruction;
  instruction.kind = InstructionKind::kHostWork;
  instruction.task = task;
  instruction.queue = queue("data");
  instruction.first_use = static_cast<std::uint32_t>(block_.list.uses.size());
  instruction.use_count = 1;
  block_.list.uses.push_back({static_cast<std::uint32_t>(SpaceKind::kHost), Access::kRead, Bytes(0), bytes});
  return append(instruction, after);
}

void PassBody::end_round() {
  Instruction marker;
  marker.kind = InstructionKind::kMarker;
  marker.queue = queue("compute");
  const std::vector<std::uint32_t> all = std::move(round_);
  round_.clear();
  barrier_ = {append(marker, all)};
  round_.clear();
}

Plan PassBody::finish() {
  Call call{.block = BlockId(0), .bindings = {{BufferId(0)}, {BufferId(1)}, {BufferId(2)}}, .ports = {}};
  plan_.blocks.push_back(std::move(block_));
  plan_.bodies.push_back({.name = "step", .calls = {std::move(call)}});
  return std::move(plan_);
}

}  // namespace plimsoll
