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
  if (problem.graph) reserve_state(plan, book, places, problem.graph->parameters);
  else reserve_state(plan, book, places, lay_out_parameters(problem.spec, problem.recipe.adapter));
  std::vector<SpaceNeed> needs = space_needs(plan);
  for (const Buffer& buffer : plan.buffers) needs[buffer.space.index].needed += buffer.extent();
  return needs;
}

/// Refused by what was read off shorter models is only what exceeds a memory by more than one part in so many: the whole model
/// decides the rest. Of 19,710 strategies on random walks none was read off higher than it is (folded_bound_test draws such).
constexpr std::int64_t kFoldedMargin = 1000;

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
  if (look.memory && problem.shorter && !look.tight) {
    auto needs = folded_bound(*problem.shorter, strategy);
    if (!needs) return fail(needs.error());
    if (*needs && surely_too_much(**needs)) return Candidate{.strategy = strategy, .needs = std::move(**needs), .step = {}};
  }
  LowerOptions options{.evaluation = problem.evaluation,
                       .only_if_fits = true,
                       .arenas_only = look.memory,
                       .quick_addresses = !look.tight,
                       .graph = problem.graph.get()};
  std::optional<Nanoseconds> floor;
  bool load_fits = false;
  options.worth_placing = [&](const Plan& plan, const FlatBody& step) {
    load_fits = true;  // else nobody asks
    if (!look.below) return true;
    const auto bound = queue_bound(plan, step, problem.costs);
    if (!bound || *bound < *look.below) return true;
    floor = *bound;
    return false;
  };
  std::optional<std::uint64_t> digest;
  std::optional<KnownStep> known;
  if (problem.known && !look.memory) {
    options.is_known = [&](std::uint64_t of_step) {
      digest = of_step;
      known = problem.known->find(of_step);
      if (known && look.tight && !known->step) known.reset();  // it did not fit as the greedy packing placed it
      return known.has_value();
    };
  }
  FlatBody body;
  if (!look.memory) options.flat_step = &body;
  const auto plan = lower_to_plan(problem.spec, problem.recipe, problem.platform, strategy, options);
  if (!plan) return fail(plan.error());
  if (floor) return Candidate{.strategy = strategy, .needs = space_needs(*plan), .step = floor, .glanced = true};
  if (known) return Candidate{strategy, std::move(known->needs), known->step, false, known->instructions, !known->step};
  Candidate candidate{.strategy = strategy, .needs = space_needs(*plan), .step = {}};
  if (look.memory && candidate.fits()) {
    candidate.step = Nanoseconds(0);
    candidate.instructions = problem.graph ? problem.graph->ops.size() : 1;  // about
  } else if (candidate.fits()) {
    candidate.instructions = body.size();
    const auto step = predict_step(*plan, body, problem.costs, problem.odds);
    if (!step) return fail(step.error());
    candidate.step = *step;
  }
  candidate.loose = load_fits && !candidate.fits();
  if (digest && !look.tight) problem.known->add(*digest, {candidate.needs, candidate.step, candidate.instructions});
  return candidate;
}

}  // namespace plimsoll
