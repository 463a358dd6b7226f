#include "sim/planner/try_strategy.h"

#include <algorithm>

#include "core/plan/expand.h"
#include "sim/planner/lower_bound.h"
#include "sim/planner/parameter_tier.h"
#include "sim/planner/predict.h"
#include "sim/planner/step_lowering.h"

namespace plimsoll {
namespace {

/// What the lasting state of all parameter groups takes of each space.
std::vector<SpaceNeed> state_needs(const SearchProblem& problem, const Places& places, const Strategy& strategy) {
  Plan plan{.spec = problem.spec, .recipe = problem.recipe, .platform = problem.platform, .strategy = strategy};
  BufferBook book(plan);
  reserve_state(plan, book, places, lay_out_parameters(problem.spec, problem.recipe.adapter));
  std::vector<SpaceNeed> needs = space_needs(plan);
  for (const Buffer& buffer : plan.buffers) needs[buffer.space.index].needed += buffer.extent();
  return needs;
}

bool all_fit(const std::vector<SpaceNeed>& needs) {
  return std::all_of(needs.begin(), needs.end(), [](const SpaceNeed& need) { return need.fits(); });
}

/// Refused by what was read off shorter models is only what exceeds a memory by more than one part in so many: the whole model
/// decides the rest.
constexpr std::int64_t kFoldedMargin = 50;

/// Whether what was read off shorter models is more than may be used even if it is as high as it can be.
bool surely_too_much(const std::vector<SpaceNeed>& folded) {
  return std::any_of(folded.begin(), folded.end(), [](const SpaceNeed& need) {
    return (need.needed - need.usable).count > need.usable.count / kFoldedMargin;
  });
}

}  // namespace

bool Candidate::fits() const { return all_fit(needs); }

Bytes Candidate::shortfall() const {
  Bytes missing;
  for (const SpaceNeed& need : needs) missing += std::max(Bytes(0), need.needed - need.usable);
  return missing;
}

Result<std::vector<SpaceNeed>> lasting_needs(const SearchProblem& problem, const Strategy& strategy) {
  if (const auto tiers = check_tiers(strategy, problem.recipe); !tiers) return fail(tiers.error());
  const auto places = Places::find(problem.platform, strategy);
  if (!places) return fail(places.error());
  return state_needs(problem, *places, strategy);
}

Result<Candidate> try_strategy(const SearchProblem& problem, const Strategy& strategy, const Look& look) {
  if (look.glance || look.short_of) {
    auto needs = lasting_needs(problem, strategy);
    if (!needs) return fail(needs.error());
    Candidate glanced{.strategy = strategy, .needs = std::move(*needs), .step = {}, .glanced = true};
    if (!glanced.fits() && (look.glance || glanced.shortfall() >= *look.short_of)) return glanced;
  }
  if (look.memory && problem.shorter) {
    auto needs = folded_bound(*problem.shorter, strategy);
    if (!needs) return fail(needs.error());
    if (*needs && surely_too_much(**needs)) return Candidate{.strategy = strategy, .needs = std::move(**needs), .step = {}};
  }
  LowerOptions options{
      .evaluation = problem.evaluation, .only_if_fits = true, .arenas_only = look.memory, .graph = problem.graph.get()};
  std::optional<Nanoseconds> floor;
  if (look.below) {
    options.worth_placing = [&](const Plan& plan, const FlatBody& step) {
      const auto bound = queue_bound(plan, step, problem.costs);
      if (!bound || *bound < *look.below) return true;
      floor = *bound;
      return false;
    };
  }
  const auto plan = lower_to_plan(problem.spec, problem.recipe, problem.platform, strategy, options);
  if (!plan) return fail(plan.error());
  if (floor) return Candidate{.strategy = strategy, .needs = space_needs(*plan), .step = floor, .glanced = true};
  Candidate candidate{.strategy = strategy, .needs = space_needs(*plan), .step = {}};
  if (!candidate.fits()) return candidate;
  if (look.memory) {
    candidate.step = Nanoseconds(0);
    candidate.instructions = problem.graph ? problem.graph->ops.size() : 1;  // about
    return candidate;
  }
  candidate.instructions = instruction_count(*plan, *plan->body("step"));
  const auto step = predict_step(*plan, problem.costs, problem.odds);
  if (!step) return fail(step.error());
  candidate.step = *step;
  return candidate;
}

}  // namespace plimsoll
