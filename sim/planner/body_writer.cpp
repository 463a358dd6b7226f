#include "sim/planner/body_writer.h"

#include <algorithm>

namespace plimsoll {

BodyWriter::BodyWriter(Plan& plan, BufferBook& book, BodyDetail detail) : plan_(plan), book_(book), detail_(detail) {
  for (std::uint32_t i = 0; i < plan.kernels.size(); ++i) kernels_.emplace(plan.kernels[i], KernelId(i));
}

void BodyWriter::begin_segment(std::string_view name, std::uint32_t micro_batch, std::int64_t layer) {
  micro_batch_ = micro_batch;
  layer_ = layer;
  if (detail_ != BodyDetail::kAll) return;
  segments_.push_back({next_id(), micro_batch, static_cast<std::int32_t>(layer), std::string(name)});
}

void BodyWriter::use(const Range& range, Access access) {
  body_.list.uses.push_back({range.buffer.index, access, range.offset, range.bytes, range.age});
  book_.touch(range.buffer, next_id_);
}

std::uint32_t BodyWriter::append(Instruction instruction, std::span<const std::pair<Range, Access>> operands) {
  if (detail_ == BodyDetail::kLives) {
    for (const auto& [range, access] : operands) will_use(range.buffer);
    return pass();
  }
  instruction.phase = phase_;
  instruction.layer = static_cast<std::int32_t>(layer_);
  instruction.first_use = static_cast<std::uint32_t>(body_.list.uses.size());
  for (const auto& [range, access] : operands) use(range, access);
  if (guard_) {
    instruction.guard = static_cast<std::uint32_t>(operands.size());
    use(*guard_, Access::kRead);
  }
  instruction.use_count = static_cast<std::uint32_t>(body_.list.uses.size()) - instruction.first_use;
  body_.list.instructions.push_back(instruction);
  body_.micro_batches.push_back(micro_batch_);
  return next_id_++;
}

KernelId BodyWriter::kernel_id(const Kernel& kernel) {
  auto [known, is_new] = kernels_.try_emplace(kernel, KernelId(plan_.kernels.size()));
  if (is_new) plan_.kernels.push_back(kernel);
  return known->second;
}

std::uint32_t BodyWriter::launch(QueueId queue, KernelId kernel,
                                 const std::vector<std::pair<Range, Access>>& operands) {
  Instruction instruction;
  instruction.kind = InstructionKind::kLaunch;
  instruction.queue = queue;
  instruction.kernel = kernel;
  return append(instruction, operands);
}

std::uint32_t BodyWriter::copy(QueueId queue, InstructionKind kind, const Range& from, const Range& to) {
  Instruction instruction;
  instruction.kind = kind;
  instruction.queue = queue;
  const bool crosses = kind == InstructionKind::kRead || kind == InstructionKind::kWrite;
  if (crosses && detail_ == BodyDetail::kLives) crossing_.insert(crossing_.end(), {from.buffer, to.buffer});
  const std::pair<Range, Access> operands[] = {{from, Access::kRead}, {to, Access::kWrite}};
  return append(instruction, operands);
}

std::uint32_t BodyWriter::host_work(QueueId queue, HostTask task, const std::vector<std::pair<Range, Access>>& operands) {
  Instruction instruction;
  instruction.kind = InstructionKind::kHostWork;
  instruction.task = task;
  instruction.queue = queue;
  return append(instruction, operands);
}

std::uint32_t BodyWriter::exchange(QueueId queue, const Exchange& exchange,
                                   const std::vector<std::pair<Range, Access>>& operands) {
  const auto known = std::find(plan_.exchanges.begin(), plan_.exchanges.end(), exchange);
  Instruction instruction;
  instruction.kind = InstructionKind::kCollective;
  instruction.queue = queue;
  instruction.exchange = ExchangeId(static_cast<std::size_t>(known - plan_.exchanges.begin()));
  if (known == plan_.exchanges.end()) plan_.exchanges.push_back(exchange);
  return append(instruction, operands);
}

}  // namespace plimsoll
