#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "formats/runs/run_file.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {

/// A program that allocates while it runs, as the rest of the house knows programs.
struct LoweredStack {
  Plan plan;                         ///< bodies "start" (allocations alone) and "step"
  Trace trace;                       ///< of the steady step: one event an instruction
  std::vector<MemorySample> memory;  ///< over that step
  StackPrediction prediction;
};

/// Simulates the setup's program and writes down what it did: its launches with their seconds and, between them, what its
/// allocator gave and took back. Times and peaks are those of predict_stack.
Result<LoweredStack> lower_stack(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu);

}  // namespace plimsoll
