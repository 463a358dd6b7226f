#pragma once

#include <cstdint>
#include <vector>

#include "sim/stack/predict_stack.h"
#include "sim/stack/tape/stack_kernel.h"

namespace plimsoll {

/// Who works on a launch of a step.
enum class StepLane : std::uint8_t { kCompute, kCollectives, kCopies, kHost, kDrive };
inline constexpr int kStepLanes = 5;

StepLane lane_of(StackKernelSort sort);

/// A launch with what it takes.
struct TimedLaunch {
  StackKernelSort sort = StackKernelSort::kStream;
  Phase phase = Phase::kForward;
  std::uint32_t turn = 0;  ///< passes of micro-batches take turns
  double seconds = 0;   ///< of the lane that works on it
  double dispatch = 0;  ///< of the host's thread, before the GPU can begin
  bool blocking = false;  ///< a copy that the GPU's kernels wait for
  bool awaited = true;    ///< of a collective: the next turn waits for it
  bool reduces = false;   ///< of a collective: gradients among data ranks
};

/// When a launch runs, from the beginning of the step.
struct LaunchSpan {
  StepLane lane = StepLane::kCompute;
  double start = 0;
  double end = 0;
};

struct StepTimeline {
  StackTime time;  ///< seconds alone: no interval, no arithmetic
  std::vector<LaunchSpan> spans;
  std::vector<double> pauses;  ///< after each launch, where the GPU waits for the dispatching thread
};

/// Lays a step out, phase by phase. A phase's kernels last as long as the slower of GPU and dispatching thread (which then
/// leaves pauses in proportion); collectives run beside those of their own micro-batch and copies beside the phase's, as far as they are hidden; what is
/// left of a micro-batch's collectives, its last at least, is waited for before the next one; forward and backward wait for drives likewise. Updates in host memory come after the optimizer's kernels, one after the other with what drives read
/// and write for them, and copies run beside the updates.
StepTimeline lay_out_step(const std::vector<TimedLaunch>& launches);

}  // namespace plimsoll
