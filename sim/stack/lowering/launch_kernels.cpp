#include "sim/stack/lowering/launch_kernels.h"

#include <cmath>

#include "sim/stack/lowering/stack_platform.h"

namespace plimsoll {
namespace {

OpKind kind_of(const StackKernel& kernel) {
  switch (kernel.sort) {
    case StackKernelSort::kProduct:
    case StackKernelSort::kConvolution: return OpKind::kLinear;
    case StackKernelSort::kAttention: return kernel.backward ? OpKind::kAttentionBackward : OpKind::kAttention;
    case StackKernelSort::kOptimizer:
    case StackKernelSort::kHostUpdate: return OpKind::kAdamW;
    case StackKernelSort::kHostPass: return OpKind::kSquaredNorm;
    default: return OpKind::kAdd;
  }
}

InstructionKind instruction_of(StackKernelSort sort) {
  switch (sort) {
    case StackKernelSort::kCollective: return InstructionKind::kCollective;
    case StackKernelSort::kToHost:
    case StackKernelSort::kToDevice: return InstructionKind::kCopy;
    case StackKernelSort::kFromDrive: return InstructionKind::kRead;
    case StackKernelSort::kToDrive: return InstructionKind::kWrite;
    default: return InstructionKind::kLaunch;
  }
}

OpShape shape_of(const StackKernel& kernel) {
  const bool attends = kernel.sort == StackKernelSort::kAttention;
  OpShape shape{.rows = kernel.m, .groups = kernel.batch};
  if (attends) {
    shape.sequence = kernel.n;
    shape.head_dim = kernel.k;
    shape.heads = kernel.batch;
  } else {
    shape.inputs = kernel.k;
    shape.outputs = kernel.n;
  }
  return shape;
}

StackKernelSort sort_of(const Plan& plan, const Instruction& instruction) {
  const OpKind kind = plan.at(instruction.kernel).kind;
  switch (instruction.kind) {
    case InstructionKind::kCollective: return StackKernelSort::kCollective;
    case InstructionKind::kCopy: return StackKernelSort::kToHost;
    case InstructionKind::kRead: return StackKernelSort::kFromDrive;
    case InstructionKind::kWrite: return StackKernelSort::kToDrive;
    default: break;
  }
  if (instruction.queue != queue_of(StepLane::kHost)) return StackKernelSort::kStream;
  return kind == OpKind::kSquaredNorm ? StackKernelSort::kHostPass : StackKernelSort::kHostUpdate;
}

/// Plan files have no number above 2^40, and one kernel has more FLOPs: what is above 2^30 stands in a field of its own.
constexpr int kLowBits = 30;

struct Halves {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

Halves halves_of(double count) {
  const auto whole = static_cast<std::int64_t>(count);
  return {.low = whole & ((std::int64_t{1} << kLowBits) - 1), .high = whole >> kLowBits};
}

double count_of(const Halves& halves) { return std::ldexp(static_cast<double>(halves.high), kLowBits) + static_cast<double>(halves.low); }

}  // namespace

LoweredLaunch lower_launch(const StackKernel& kernel, double seconds) {
  OpShape shape = shape_of(kernel);
  const Halves bytes = halves_of(kernel.bytes), flops = halves_of(kernel.flops);
  shape.positions = bytes.low;
  shape.choices = bytes.high;
  shape.capacity = flops.low;
  shape.experts = flops.high;
  shape.variant = kernel.again ? 1 : 0;
  shape.terms = kernel.blocking ? 2 : 1;
  shape.constant = seconds;
  return {.kind = instruction_of(kernel.sort), .kernel = {.kind = kind_of(kernel), .dtype = kernel.dtype, .shape = shape}};
}

RaisedLaunch raise_launch(const Plan& plan, const Instruction& instruction) {
  const OpShape& shape = plan.at(instruction.kernel).shape;
  return {.timed = {.sort = sort_of(plan, instruction), .phase = instruction.phase, .seconds = shape.constant, .dispatch = 0,
                    .blocking = shape.terms == 2},
          .flops = count_of({.low = shape.capacity, .high = shape.experts}),
          .again = shape.variant == 1};
}

}  // namespace plimsoll
