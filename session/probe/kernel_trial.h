#pragma once

#include <vector>

#include "core/graph/graph.h"
#include "core/plan/plan.h"
#include "executor/kernels/launch.h"
#include "profiler/microbench/timing.h"

namespace plimsoll {

class WorkerPool;
class MatrixProduct;

/// A kernel to be timed by itself, with the tensors that it works on in a training step.
struct KernelTrial {
  Kernel kernel;
  std::vector<Tensor> tensors;   ///< in the operand order of OpKind
  std::vector<Access> accesses;  ///< one for each tensor
  Recipe recipe;
};

/// The distinct kernels of a step, in the order in which the step runs them.
std::vector<KernelTrial> trials_of(const Graph& graph);

/// Operands of a kernel: N(0, 1) numbers and random tokens. Small operands lie there in several copies.
class KernelOperands {
 public:
  /// As many copies as fit into `span`, at least one.
  KernelOperands(const KernelTrial& trial, Bytes span);

  /// The operands of the next run: the next copy, so that small ones do not stay in the first cache as they never do in
  /// a step.
  std::span<const OperandView> next();

 private:
  std::size_t copies_ = 1;
  std::size_t runs_ = 0;
  std::vector<std::byte> memory_;
  std::vector<OperandView> views_;
};

/// How a kernel is timed.
struct TrialOptions {
  TimingOptions timing;
  Bytes span{16 * kMiB};  ///< see KernelOperands
};

/// Durations of single runs in seconds, each on the next operands.
std::vector<double> time_kernel(const KernelTrial& trial, const LaunchContext& context, const TrialOptions& options);

}  // namespace plimsoll
