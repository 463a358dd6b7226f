#include "executor/cpu/rehearse.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "executor/cpu/execute.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll {
namespace {

/// By use of an instruction: whether it is state that must not change.
std::vector<bool> kept_uses(const Plan& plan, const Program& program, const Instruction& instruction, bool keep_state) {
  std::vector<bool> kept;
  for (const Use& use : program.body.uses(instruction)) {
    kept.push_back(keep_state && plan.buffers[use.target].persistent);
  }
  return kept;
}

/// Routing that is zeroed puts all tokens into one row, which several tasks would write at once.
bool scatters_tokens(const Kernel& kernel) { return kernel.kind == OpKind::kCombineBackward; }

}  // namespace

void rehearse(const Plan& plan, std::span<const Program* const> programs, const Rehearsal& rehearsal) {
  std::vector<bool> rehearsed(plan.kernels.size(), false);
  WorkerPool alone(1);
  for (const Program* program : programs) {
    for (std::uint32_t id = 0; id < program->body.size(); ++id) {
      const Instruction& instruction = program->body.list.instructions[id];
      if (instruction.kind != InstructionKind::kLaunch || rehearsed[instruction.kernel.index]) continue;
      const auto uses = program->uses_of(instruction);
      const std::vector<bool> kept = kept_uses(plan, *program, instruction, rehearsal.keep_state);
      bool writes_state = false;
      for (std::size_t i = 0; i < uses.size(); ++i) writes_state = writes_state || (kept[i] && writes(uses[i].access));
      if (writes_state) continue;
      rehearsed[instruction.kernel.index] = true;
      for (std::size_t i = 0; i < uses.size(); ++i) {
        if (!kept[i]) std::memset(uses[i].in_step(0), 0, static_cast<std::size_t>(uses[i].bytes.count));
      }
      WorkerPool& pool = scatters_tokens(plan.kernels[instruction.kernel.index]) ? alone : *rehearsal.pool;
      execute_launch(plan, *program, id, 0, pool, *rehearsal.product);
    }
  }
}

}  // namespace plimsoll
