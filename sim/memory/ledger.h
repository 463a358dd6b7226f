#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/plan/expand.h"
#include "core/trace/trace.h"

namespace plimsoll {

inline constexpr std::size_t kTensorKinds = static_cast<std::size_t>(TensorKind::kScalar) + 1;

/// Live bytes by TensorKind.
using LiveBytes = std::array<Bytes, kTensorKinds>;

Bytes total(const LiveBytes& live);

/// What is live from `time` until the next point.
struct LedgerPoint {
  Nanoseconds time;
  LiveBytes live{};
};

/// What lies in one space over a stretch of time.
struct SpaceLedger {
  SpaceId space;
  Bytes packed;                        ///< bytes of the space's arena: what the plan reserves
  std::vector<LedgerPoint> curve;      ///< by time, one point a change; the first at the start of the stretch
  LedgerPoint peak;                    ///< the first point at which most is live
  std::vector<BufferId> live_at_peak;  ///< by id; a buffer whose slots of several steps are live stands here once
};

/// One entry for each memory space of the platform, by id.
struct MemoryLedger {
  Nanoseconds begin;
  Nanoseconds end;
  std::vector<SpaceLedger> spaces;
};

/// What was live during step `step`, from the moment the step before had ended: a persistent buffer always (all its
/// slots), another's slot from the start of its first use in a step to the end of its last one, as the trace timed
/// them. Work for later steps that runs meanwhile counts too. The step must have been traced; otherwise only persistent
/// buffers are live.
MemoryLedger memory_ledger(const Plan& plan, const FlatBody& body, const Trace& trace, std::uint32_t step);

/// The same over all traced steps.
MemoryLedger memory_ledger_of_run(const Plan& plan, const FlatBody& body, const Trace& trace);

/// The peaks as a trace stores them: what the arenas reserve, and what is live when most is. Spaces without arena are
/// left out.
std::vector<SpacePeak> memory_peaks(const Plan& plan, const MemoryLedger& ledger);

}  // namespace plimsoll
