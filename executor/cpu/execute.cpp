#include "executor/cpu/execute.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "executor/collectives/run_exchange.h"

namespace plimsoll {

bool guard_is_set(const Program& program, const Instruction& instruction, std::int64_t step) {
  if (instruction.guard == kNoGuard) return true;
  const PlacedUse& flag = program.uses_of(instruction)[instruction.guard];
  const std::byte* begin = flag.in_step(step);
  return std::any_of(begin, begin + flag.bytes.count, [](std::byte b) { return b != std::byte{0}; });
}

std::vector<OperandView> operands_of(const Program& program, const Instruction& instruction, std::int64_t step) {
  const std::span<const PlacedUse> uses = program.uses_of(instruction);
  std::vector<OperandView> views;
  views.reserve(uses.size());
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    if (i == instruction.guard) continue;
    views.push_back({.data = uses[i].in_step(step), .bytes = uses[i].bytes, .access = uses[i].access});
  }
  return views;
}

namespace {

void copy(const std::vector<OperandView>& operands) {
  std::memcpy(operands[1].data, operands[0].data, static_cast<std::size_t>(operands[0].bytes.count));
}

/// From the drive into memory or back, whichever of the two uses lies on it.
void move(std::span<const PlacedUse> uses, std::int64_t step) {
  const PlacedUse& from = uses[0];
  const PlacedUse& to = uses[1];
  if (from.drive != nullptr) {
    from.drive->read(from.offset_in_step(step), to.bytes_in_step(step));
  } else {
    to.drive->write(to.offset_in_step(step), from.bytes_in_step(step));
  }
}

void load_batch(const ExecutionContext& context, std::uint32_t micro_batch, std::int64_t step,
                const std::vector<OperandView>& operands) {
  std::vector<std::span<std::byte>> parts;
  for (const OperandView& operand : operands) {
    parts.emplace_back(operand.data, static_cast<std::size_t>(operand.bytes.count));
  }
  // Counted here, on the queue that loads, so that the loss finds the number ready.
  if (context.targets != nullptr) context.targets->of_step(step);
  const std::uint32_t count = context.program.micro_batches;  // numbers from there on are of later steps
  const BatchPlace place{context.data_seed, step + micro_batch / count, micro_batch % count, count};
  context.batches.fill(place, context.plan.recipe, parts);
}

void exchange(const ExecutionContext& context, const Instruction& instruction, const std::vector<OperandView>& operands) {
  std::vector<std::span<std::byte>> uses;
  for (const OperandView& operand : operands) uses.emplace_back(operand.data, static_cast<std::size_t>(operand.bytes.count));
  run_exchange(context.plan.at(instruction.exchange), *context.transport, uses);
}

/// Operands hold the loss of each micro-batch, then what the clip factor's kernel wrote, if there is one, or (of an evaluation
/// with labels) the share of right answers, then (of a model with experts) the auxiliary loss and the refused share of each
/// micro-batch; all are doubles.
LossReport report_loss(const std::vector<OperandView>& operands, std::uint32_t micro_batches, bool has_experts) {
  std::vector<double> values;
  for (const OperandView& operand : operands) {
    const std::size_t old = values.size();
    values.resize(old + static_cast<std::size_t>(operand.bytes.count) / sizeof(double));
    std::memcpy(values.data() + old, operand.data, (values.size() - old) * sizeof(double));
  }
  LossReport report;
  const std::size_t losses = std::min<std::size_t>(micro_batches, values.size());
  for (std::size_t i = 0; i < losses; ++i) report.loss += values[i] / static_cast<double>(losses);
  if (has_experts && values.size() >= 3 * losses) {
    for (std::size_t i = values.size() - 2 * losses; i < values.size(); i += 2) {
      report.expert_loss += values[i] / static_cast<double>(losses);
      report.expert_overflow += values[i + 1] / static_cast<double>(losses);
    }
    values.resize(values.size() - 2 * losses);
  }
  if (values.size() > losses + 1) report.gradient_norm = values[losses + 1];
  if (values.size() == losses + kScaledFactorDoubles) {
    report.skipped = std::isnan(values[losses]);
    report.loss_scale = values[losses + 3];
  }
  if (values.size() == losses + 1) report.right = values[losses];
  for (double* value : {&report.loss, &report.gradient_norm}) {
    if (std::isnan(*value)) *value = std::numeric_limits<double>::quiet_NaN();  // its sign says nothing, and would be printed
  }
  return report;
}

}  // namespace

std::optional<std::int64_t> targets_of(const ExecutionContext& context, const Instruction& launch, std::int64_t step) {
  const OpKind kind = context.plan.at(launch.kernel).kind;
  if (context.targets == nullptr || (kind != OpKind::kCrossEntropy && kind != OpKind::kLoss)) return std::nullopt;
  return context.targets->of_step(step);
}

BatchRows batch_rows(const Plan& plan, const Program& program, std::uint64_t seed) {
  return {.seed = seed,
          .micro_batches = program.micro_batches,
          .rows = plan.recipe.micro_batch,
          .sequence = plan.recipe.sequence};
}

LaunchContext launch_context(const Plan& plan, const Program& program, std::uint32_t id, std::int64_t step, WorkerPool& pool,
                             const MatrixProduct& product, std::optional<std::int64_t> targets) {
  const Instruction& instruction = program.body.list.instructions[id];
  const Kernel& kernel = plan.at(instruction.kernel);
  // Of updates of a step's rounds the segment's number counts those before (sim/planner/ranks).
  const bool several = is_update(kernel.kind) && kernel.shape.terms > 1;
  return {.pool = &pool,
          .product = &product,
          .recipe = &plan.recipe,
          .rope_scaling = plan.spec.rope_scaling,
          .step = step,
          .updates = several ? step * kernel.shape.terms + program.body.micro_batches[id] : -1,
          .experts = &plan.spec.experts,
          .micro_batch = program.body.micro_batches[id],
          .block = instruction.layer,
          .targets = targets};
}

void execute_launch(const Plan& plan, const Program& program, std::uint32_t id, std::int64_t step, WorkerPool& pool,
                    const MatrixProduct& product, std::optional<std::int64_t> targets) {
  const Instruction& instruction = program.body.list.instructions[id];
  launch(plan.at(instruction.kernel), operands_of(program, instruction, step),
         launch_context(plan, program, id, step, pool, product, targets));
}

Outcome execute(const ExecutionContext& context, std::uint32_t id, std::int64_t step) {
  const Instruction& instruction = context.program.body.list.instructions[id];
  if (context.transport != nullptr) context.transport->note_instruction(step);
  if (!guard_is_set(context.program, instruction, step)) return {.skipped = true, .report = {}};
  if (instruction.kind == InstructionKind::kLaunch && context.waits != nullptr) {
    std::this_thread::sleep_for(std::chrono::nanoseconds((*context.waits)[id].count));
    return {};
  }
  if (instruction.kind == InstructionKind::kLaunch) {
    execute_launch(context.plan, context.program, id, step, context.pool, context.product,
                   targets_of(context, instruction, step));
    return {};
  }
  if (instruction.kind == InstructionKind::kRead || instruction.kind == InstructionKind::kWrite) {
    move(context.program.uses_of(instruction), step);
    return {};
  }
  const std::vector<OperandView> operands = operands_of(context.program, instruction, step);
  if (instruction.kind == InstructionKind::kCopy) copy(operands);
  if (instruction.exchange.valid()) exchange(context, instruction, operands);
  if (instruction.kind != InstructionKind::kHostWork) return {};
  if (instruction.task == HostTask::kLoadTokens) {
    load_batch(context, context.program.body.micro_batches[id], step, operands);
  } else if (instruction.task == HostTask::kReportLoss) {
    const bool has_experts = context.plan.spec.experts.count > 0;
    return {.skipped = false, .report = report_loss(operands, context.program.micro_batches, has_experts)};
  }
  return {};
}

}  // namespace plimsoll
