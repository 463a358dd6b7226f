#pragma once

#include "core/base/result.h"
#include "core/schedule/pipeline_schedule.h"

namespace plimsoll {

/// Bounds on what a schedule may hold; a file with more is refused.
inline constexpr std::uint32_t kMaxPipelineRanks = 4096;
inline constexpr std::uint64_t kMaxPipelineOps = std::uint64_t{1} << 24;

/// What verification looked at.
struct ScheduleReport {
  std::uint64_t ops = 0;
  std::uint64_t transfers = 0;  ///< results that one rank sends to another
};

/// Proves, whoever made it, that a schedule trains: every (stage, micro-batch) has one F, and one B or else one I and
/// one W, all on one rank; F stands before B or I, I before W; overlapped pairs are a forward with a backward; all
/// ranks running their orders at once come to the end (no deadlock); moved activations leave after their forward. The
/// first defect is returned, with rank, position and op.
Result<ScheduleReport> verify_schedule(const PipelineSchedule& schedule);

}  // namespace plimsoll
