#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "executor/cpu/program.h"
#include "executor/cpu/run_lanes.h"
#include "executor/data/batch_rows.h"
#include "executor/executor.h"

namespace plimsoll {

/// What is the same of a segment of steps on every backend: learning rates, counted targets, evaluations.

/// Lets `run` run a segment of the program's steps: `targets` counts those of each step, null where all do. Every summary, that
/// of `on_step` too, gets the learning rate of its step.
LaneRecord run_segment(const Plan& plan, const Program& program, const RunSegment& segment, const BatchSource& batches,
                       std::uint64_t seed,
                       const std::function<LaneRecord(const RunSegment& segment, CountedTargets* targets)>& run);

/// The mean over `count` batches of the program with the states after so many steps, each batch weighted by its targets; `run`
/// runs the program's steps on windows of that seed. Refuses a plan without an evaluation, and a corpus that does not fit.
Result<HeldOut> evaluate_segment(
    const Plan& plan, const std::optional<Program>& evaluation, std::int64_t steps_done, const BatchSource& batches,
    std::int64_t count,
    const std::function<LaneRecord(const Program& program, const RunSegment& segment, std::uint64_t seed)>& run);

}  // namespace plimsoll
