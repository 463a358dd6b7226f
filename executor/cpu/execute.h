#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "executor/collectives/transport.h"
#include "executor/cpu/program.h"
#include "executor/data/batch_rows.h"
#include "executor/data/batch_source.h"
#include "executor/kernels/launch.h"

namespace plimsoll {

/// What a step publishes when its kReportLoss runs.
struct LossReport {
  double loss = 0;           ///< mean over the micro-batches
  double gradient_norm = 0;    ///< before clipping, unscaled; 0 when nothing needs it
  double expert_loss = 0;      ///< auxiliary losses of a model with experts, which training adds; mean over the micro-batches
  double expert_overflow = 0;  ///< share of its tokens' choices that the experts' capacity refused
  double loss_scale = 0;       ///< of this step; 0 where the loss is not scaled
  bool skipped = false;        ///< the gradients were not finite: no update
  double right = -1;         ///< of an evaluation with labels, the share of right answers
};

/// What became of one instruction.
struct Outcome {
  bool skipped = false;  ///< its guard was zero
  std::optional<LossReport> report;
};

/// Everything that instructions need besides their uses.
struct ExecutionContext {
  const Plan& plan;
  const Program& program;
  WorkerPool& pool;
  const MatrixProduct& product;
  const BatchSource& batches;
  std::uint64_t data_seed = 0;        ///< key of what batches hold
  CountedTargets* targets = nullptr;  ///< of a corpus with a mask: how many targets of a step count
  Transport* transport = nullptr;     ///< to the job's other ranks
  const std::vector<Nanoseconds>* waits = nullptr;  ///< by instruction: kernels sleep so long instead of computing
};

/// Whether the instruction's flag, in host memory, lets it run; without one it always does.
bool guard_is_set(const Program& program, const Instruction& instruction, std::int64_t step);

/// The uses that the instruction works on in that step: all but its guard's flag.
std::vector<OperandView> operands_of(const Program& program, const Instruction& instruction, std::int64_t step);

/// How many targets of the step count, where the instruction is a loss and not all do.
std::optional<std::int64_t> targets_of(const ExecutionContext& context, const Instruction& launch, std::int64_t step);

/// Which rows the batches of a program hold.
BatchRows batch_rows(const Plan& plan, const Program& program, std::uint64_t seed);

/// Carries out one instruction of optimizer step `step` (0-based, absolute) on the calling thread and the pool.
/// Any thread may call it for any instruction that the law of plans lets start.
Outcome execute(const ExecutionContext& context, std::uint32_t instruction, std::int64_t step);

/// What a launch of step `step` is given besides its operands.
LaunchContext launch_context(const Plan& plan, const Program& program, std::uint32_t launch, std::int64_t step, WorkerPool& pool,
                             const MatrixProduct& product, std::optional<std::int64_t> targets);

/// Carries out a launch alone, whatever its guard says; the rehearsal uses it.
void execute_launch(const Plan& plan, const Program& program, std::uint32_t launch, std::int64_t step, WorkerPool& pool,
                    const MatrixProduct& product, std::optional<std::int64_t> targets = {});

}  // namespace plimsoll
