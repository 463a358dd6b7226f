#include "executor/cpu/rehearse.h"

#include <cstring>
#include <vector>

#include "executor/cpu/execute.h"

namespace plimsoll {

void rehearse(const Plan& plan, std::span<const Program* const> programs, WorkerPool& pool,
              const MatrixProduct& product) {
  std::vector<bool> rehearsed(plan.kernels.size(), false);
  for (const Program* program : programs) {
    for (const Instruction& instruction : program->body.list.instructions) {
      if (instruction.kind != InstructionKind::kLaunch || rehearsed[instruction.kernel.index]) continue;
      rehearsed[instruction.kernel.index] = true;
      for (const PlacedUse& use : program->uses_of(instruction)) {
        std::memset(use.in_step(0), 0, static_cast<std::size_t>(use.bytes.count));
      }
      execute_launch(plan, *program, instruction, 0, pool, product);
    }
  }
}

}  // namespace plimsoll
