#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/model/recipe.h"
#include "core/plan/plan.h"

namespace plimsoll {

class WorkerPool;
class MatrixProduct;

/// One operand of a launch: where it lies. Absent optional operands are simply not in the list.
struct OperandView {
  std::byte* data = nullptr;
  Bytes bytes;
  Access access = Access::kRead;
};

/// What kernels need besides their operands.
struct LaunchContext {
  WorkerPool* pool = nullptr;  ///< runs the kernel's fixed tiles; the number of workers changes no bit
  const MatrixProduct* product = nullptr;
  const Recipe* recipe = nullptr;  ///< betas, epsilon, decay, clip for the optimizer kernels
  RopeScaling rope_scaling;        ///< of the model, for the rotary kernels
  std::int64_t step = 0;           ///< optimizer step, 0-based: learning rate, and what is drawn in it
  std::int64_t updates = -1;       ///< made before, of which bias corrections know; below 0: as many as steps
  const ExpertSpec* experts = nullptr;  ///< of the model, for the kernels of a mixture
  std::int64_t micro_batch = 0;         ///< of the step, and …
  std::int64_t block = -1;              ///< … of the model: random numbers are drawn for them
  std::optional<std::int64_t> targets;  ///< that count in the whole step, for the loss; nothing: all do
};

/// Runs one kernel (fp32, fp64, bf16 or fp16) on its operands, in the operand order of OpKind. Blocks until it is done.
/// Throws EnvironmentError for a kernel or type that the CPU backend does not have (check first with `supports`).
void launch(const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context);

/// True when `launch` has this kernel in this type.
bool supports(const Kernel& kernel);

}  // namespace plimsoll
