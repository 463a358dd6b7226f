#include "executor/cpu/segment_run.h"

#include <limits>
#include <memory>

#include "executor/cpu/execute.h"
#include "executor/data/counter_random.h"
#include "executor/held_out.h"

namespace plimsoll {
namespace {

/// Evaluation draws other windows than training does, from whatever corpus it is given.
constexpr std::uint64_t kEvaluationStream = 0x65766175;  // "evau"

tl::unexpected<Error> bad(std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = {}});
}

/// Null where all targets count.
std::unique_ptr<CountedTargets> counted_targets(const Plan& plan, const Program& program, const BatchSource& batches,
                                                std::uint64_t seed) {
  const TokenSource* masked = batches.masked_tokens();
  return masked == nullptr ? nullptr : std::make_unique<CountedTargets>(*masked, batch_rows(plan, program, seed));
}

}  // namespace

LaneRecord run_segment(const Plan& plan, const Program& program, const RunSegment& segment, const BatchSource& batches,
                       std::uint64_t seed,
                       const std::function<LaneRecord(const RunSegment& segment, CountedTargets* targets)>& run) {
  const auto with_rate = [&](StepSummary summary) {
    summary.learning_rate = learning_rate_at(plan.recipe, summary.step);
    return summary;
  };
  RunSegment rated = segment;
  if (segment.on_step) rated.on_step = [&](const StepSummary& summary) { segment.on_step(with_rate(summary)); };
  const auto targets = counted_targets(plan, program, batches, seed);
  LaneRecord record = run(rated, targets.get());
  for (StepSummary& summary : record.steps) summary = with_rate(summary);
  return record;
}

Result<HeldOut> evaluate_segment(
    const Plan& plan, const std::optional<Program>& evaluation, std::int64_t steps_done, const BatchSource& batches,
    std::int64_t count,
    const std::function<LaneRecord(const Program& program, const RunSegment& segment, std::uint64_t seed)>& run) {
  if (!evaluation) return bad("the plan has no evaluation body");
  if (count <= 0) return bad("an evaluation needs at least one batch");
  if (auto fits = batches.check(plan.spec, plan.recipe); !fits) return fail(fits.error());
  const Program program = at_versions_of(plan, *evaluation, steps_done);
  const std::uint64_t seed = random_at(plan.recipe.seed, kEvaluationStream);
  const RunSegment segment{.first_step = 0, .steps = count, .first_traced_step = std::numeric_limits<std::int64_t>::max()};
  const LaneRecord record = run(program, segment, seed);
  const auto targets = counted_targets(plan, program, batches, seed);
  return mean_of(record.steps, [&](std::int64_t step) { return targets ? static_cast<double>(targets->of_step(step)) : 1.0; });
}

}  // namespace plimsoll
