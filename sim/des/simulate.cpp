#include "sim/des/simulate.h"

#include <fmt/format.h>

#include <string>

#include "sim/des/engine.h"
#include "sim/des/work_table.h"
#include "sim/memory/ledger.h"

namespace plimsoll {
namespace {

/// Instances are numbered in 32 bits, two numbers of which are taken.
constexpr std::uint64_t kMaxInstances = 0xfffffffdu;

std::vector<SpacePeak> arena_peaks(const Plan& plan) {
  std::vector<SpacePeak> peaks;
  for (const Arena& arena : plan.arenas) peaks.push_back({.space = arena.space, .bytes = arena.bytes});
  return peaks;
}

}  // namespace

Result<Trace> simulate(const Plan& plan, std::string_view name, const CostModel& costs,
                       const SimulateOptions& options) {
  const Body* const body = plan.body(name);
  if (body == nullptr) return fail({ErrorKind::kUnknownName, fmt::format("the plan has no body '{}'", name), "", ""});
  return simulate(plan, expand(plan, *body), costs, options);
}

Result<Trace> simulate(const Plan& plan, const FlatBody& flat, const CostModel& costs, const SimulateOptions& options) {
  if (std::uint64_t{flat.size()} * options.steps > kMaxInstances) {
    return fail({ErrorKind::kInput,
                 fmt::format("{} steps of {} instructions are too many to simulate", options.steps, flat.size()), "",
                 "simulate fewer steps"});
  }
  Result<WorkTable> works = cost_instructions(plan, flat, costs);
  if (!works) return fail(std::move(works.error()));

  Trace trace{.kind = TraceKind::kPredicted, .source = costs.source(), .calibrated_from = costs.sample_plans()};
  if (Result<void> ran = Engine(plan, flat, *works, options).run(trace); !ran) return fail(std::move(ran.error()));
  trace.peaks = options.keep_events && options.ledger ? memory_peaks(plan, memory_ledger_of_run(plan, flat, trace)) : arena_peaks(plan);
  return trace;
}

}  // namespace plimsoll
