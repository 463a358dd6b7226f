#include "sim/planner/check_shares.h"
#include "sim/planner/try_strategy.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/expand.h"
#include "sim/planner/fewer_micro_batches.h"
#include "sim/planner/lower_bound.h"
#include "sim/planner/parameter_tier.h"
#include "sim/planner/predict.h"
#include "sim/planner/step_lowering.h"

namespace plimsoll {
namespace {

/// Refused by what was read off shorter models is only what exceeds a memory by more than one part in so many: the whole model
/// decides the rest. Of 19,710 strategies on random walks none was read off higher than it is (folded_bound_test draws such).
constexpr std::int64_t kFoldedMargin = 1000;

/// Whether what was read off shorter models is more than may be used even if it is as high as it can be.
bool surely_too_much(const std::vector<SpaceNeed>& folded) {
  return std::any_of(folded.begin(), folded.end(), [](const SpaceNeed& need) {
    return (need.needed - need.usable).count > need.usable.count / kFoldedMargin;
  });
}

std::vector<Bytes> bytes_of(const std::vector<SpaceNeed>& needs) {
  std::vector<Bytes> bytes;
  for (const SpaceNeed& need : needs) bytes.push_back(need.needed);
  return bytes;
}

/// One look at one strategy, once it is worth lowering.
class Trial {
 public:
  Trial(const SearchProblem& problem, const Strategy& strategy, const Look& look)
      : problem_(problem), strategy_(strategy), look_(look), shares_(problem.lowered && !problem.evaluation) {}

  /// What comes of steps that another search of the command lowered; nothing where that says too little.
  std::optional<Result<Candidate>> from_memory() {
    if (!shares_ || !check_lowerable(problem_.spec, problem_.recipe, problem_.platform, strategy_)) return std::nullopt;
    const auto written = problem_.lowered->written(strategy_, problem_.platform);
    if (!written) return std::nullopt;
    Plan plan = plan_around(written->bounds);
    bounds_ = bytes_of(space_needs(plan));
    if (!all_fit(space_needs(plan))) return candidate(plan);
    if (!written->step) return std::nullopt;
    plan.kernels = written->step->kernels;
    load_fits_ = true;
    if (!is_worth_placing(plan, written->step->body)) return candidate(plan);
    if (is_known(written->digest)) return candidate(plan);
    if (look_.tight) return std::nullopt;
    const auto placed = problem_.lowered->placed(strategy_, problem_.platform, written->digest);
    if (!placed) return std::nullopt;
    plan.arenas = placed->arenas;
    const bool timed = !look_.memory && all_fit(space_needs(plan));
    if (!timed) return candidate(plan);
    if (!placed->step) return std::nullopt;
    plan.kernels = placed->step->kernels;
    return candidate(plan, placed->step->body);
  }

  Result<Candidate> lower() {
    FlatBody body;
    LowerOptions options = lower_options();
    if (!look_.memory) options.flat_step = &body;
    const auto plan = lower_to_plan(problem_.spec, problem_.recipe, problem_.platform, strategy_, options);
    if (!plan) return fail(plan.error());
    if (bounds_.empty()) bounds_ = bytes_of(space_needs(*plan));  // too much by them alone: it has no addresses
    if (shares_) share(*plan, body);
    return candidate(*plan, body);
  }

 private:
  LowerOptions lower_options() {
    LowerOptions options{.evaluation = problem_.evaluation,
                         .only_if_fits = true,
                         .arenas_only = look_.memory,
                         .quick_addresses = !look_.tight,
                         .nameless = true,
                         .sizes = problem_.sizes.get(),
                         .packings = problem_.packings.get(),
                         .outline = problem_.outline.get(),
                         .graph = problem_.graph.get()};
    if (shares_) {
      options.when_written = [&](const Plan& plan, const FlatBody& step, std::uint64_t digest) {
        bare_ = BareStep::of(plan, step);
        written_ = {plan.arenas, digest, bare_};
      };
      options.placed_for = &placed_for_;
    }
    options.when_bounded = [&](const Plan& plan) {
      load_fits_ = true;  // else nobody asks
      bounds_ = bytes_of(space_needs(plan));
    };
    if (look_.loads || look_.below)
      options.worth_placing = [&](const Plan& plan, const FlatBody& step) { return is_worth_placing(plan, step); };
    if (problem_.known && !look_.memory) options.is_known = [&](std::uint64_t digest) { return is_known(digest); };
    return options;
  }

  bool is_worth_placing(const Plan& plan, const FlatBody& step) {
    if (look_.loads) {
      if (auto loads = queue_loads(plan, step, problem_.costs)) loads_ = std::move(*loads);
    }
    if (!look_.below) return true;
    const auto bound = queue_bound(plan, step, problem_.costs);
    if (!bound || *bound < *look_.below) return true;
    floor_ = *bound;
    return false;
  }

  bool is_known(std::uint64_t digest) {
    if (!problem_.known || look_.memory) return false;
    digest_ = digest;
    known_ = problem_.known->find(digest);
    if (known_ && look_.tight && !known_->step) known_.reset();  // it did not fit as the greedy packing placed it
    return known_.has_value();
  }

  /// For other searches. What the exact packing placed is this machine's own.
  void share(const Plan& plan, const FlatBody& body) {
    if (!bare_)
      return problem_.lowered->keep(strategy_, problem_.platform, {.bounds = plan.arenas, .step = nullptr}, {});
    std::optional<PlacedStep> placed;
    if (!floor_ && !known_ && !look_.tight) placed = PlacedStep{plan.arenas, placed_for_, nullptr};
    if (placed && body.size() > 0) {
      bare_->order_as(body);
      placed->step = bare_;
    }
    problem_.lowered->keep(strategy_, problem_.platform, std::move(written_), std::move(placed));
  }

  /// With one buffer for each space, as bare steps name them.
  [[nodiscard]] Plan plan_around(const std::vector<Arena>& arenas) const {
    Plan plan{.spec = problem_.spec, .recipe = problem_.recipe, .platform = problem_.platform, .strategy = strategy_};
    for (std::size_t i = 0; i < plan.platform.spaces.size(); ++i) plan.buffers.push_back({.space = SpaceId(i)});
    plan.arenas = arenas;
    return plan;
  }

  /// What was found of the plan, whose body is there if it fits and is to be timed.
  Result<Candidate> candidate(const Plan& plan, const FlatBody& body = {}) {
    auto found = timed(plan, body);
    if (found) found->bounds = bounds_, found->loads = loads_;
    return found;
  }

  Result<Candidate> timed(const Plan& plan, const FlatBody& body) {
    if (floor_) return Candidate{.strategy = strategy_, .needs = space_needs(plan), .step = floor_, .glanced = true};
    if (known_)
      return Candidate{strategy_, std::move(known_->needs), known_->step, false, known_->instructions, !known_->step};
    Candidate candidate{.strategy = strategy_, .needs = space_needs(plan), .step = {}};
    if (look_.memory && candidate.fits()) {
      candidate.step = Nanoseconds(0);
      candidate.instructions = problem_.graph ? problem_.graph->ops.size() : 1;  // about
    } else if (candidate.fits()) {
      candidate.instructions = body.size();
      const auto step = predict_step(plan, body, problem_.costs, problem_.odds);
      if (!step) return fail(step.error());
      candidate.step = *step;
    }
    candidate.loose = load_fits_ && !candidate.fits();
    if (digest_ && !look_.tight)
      problem_.known->add(*digest_, {candidate.needs, candidate.step, candidate.instructions});
    return candidate;
  }

  const SearchProblem& problem_;
  const Strategy& strategy_;
  const Look& look_;
  bool shares_;
  bool load_fits_ = false;
  std::vector<Bytes> bounds_;
  std::vector<double> loads_;
  std::optional<Nanoseconds> floor_;
  std::optional<std::uint64_t> digest_;
  std::optional<KnownStep> known_;
  std::shared_ptr<BareStep> bare_;
  WrittenStep written_;
  RoomRange placed_for_;
};

}  // namespace

bool Candidate::fits() const { return all_fit(needs); }

Bytes Candidate::shortfall() const {
  Bytes missing;
  for (const SpaceNeed& need : needs) missing += std::max(Bytes(0), need.needed - need.usable);
  return missing;
}

SearchProblem prepared(SearchProblem problem, const std::shared_ptr<SharedSteps>& shared) {
  if (!problem.packings) problem.packings = shared ? shared->packings() : std::make_shared<KnownPackings>();
  if (shared) problem.lowered = shared->of(problem.spec, problem.recipe, problem.platform);
  problem.graph = problem.lowered ? problem.lowered->graph() : graph_on(problem.spec, problem.recipe, problem.platform);
  if (!problem.graph) return problem;
  problem.outline = problem.lowered ? problem.lowered->outline() : std::make_shared<const StepOutline>(*problem.graph);
  problem.sizes =
      std::make_shared<const std::vector<GroupSizes>>(state_sizes(problem.recipe, problem.graph->parameters));
  if (problem.recipe.accumulate >= FewerMicroBatches::kWorthwhile)
    problem.fewer = std::make_shared<const FewerMicroBatches>(problem, shared);
  return problem;
}

Result<std::vector<SpaceNeed>> lasting_needs(const SearchProblem& problem, const Strategy& strategy) {
  if (const auto tiers = check_tiers(strategy, problem.recipe); !tiers) return fail(tiers.error());
  const auto places = Places::find(problem.platform, strategy);
  if (!places) return fail(places.error());
  const auto count = [&](const ParameterLayout& layout, const std::vector<GroupSizes>& sizes) {
    return lasting_bytes(strategy, problem.recipe, *places, problem.platform.spaces.size(), layout, sizes);
  };
  std::vector<Bytes> taken;
  if (problem.graph && problem.sizes)
    taken = count(problem.graph->parameters, *problem.sizes);
  else {
    const ParameterLayout layout = lay_out_parameters(problem.spec, problem.recipe.adapter);
    taken = count(layout, state_sizes(problem.recipe, layout));
  }
  std::vector<SpaceNeed> needs;
  for (std::size_t i = 0; i < taken.size(); ++i)
    needs.push_back({SpaceId(i), taken[i], problem.platform.spaces[i].usable});
  return needs;
}

Result<Candidate> try_strategy(const SearchProblem& problem, const Strategy& strategy, const Look& look) {
  if (problem.device_updates && !device_updates_all(strategy, problem.spec.blocks())) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("strategy '{}' leaves blocks to the CPU, which cannot update them here", strategy.name),
                 .where = {},
                 .remedy = "say as many device_update_blocks as the model has, or --strategy stream-device-update"});
  }
  if (look.glance || look.short_of) {
    auto needs = lasting_needs(problem, strategy);
    if (!needs) return fail(needs.error());
    Candidate glanced{.strategy = strategy, .needs = std::move(*needs), .step = {}, .glanced = true};
    if (!glanced.fits() && (look.glance || glanced.shortfall() >= *look.short_of)) return glanced;
  }
  if (problem.fewer) return problem.fewer->look(problem, strategy, look);
  if (look.memory && problem.shorter && !look.tight) {
    auto needs = folded_bound(*problem.shorter, strategy);
    if (!needs) return fail(needs.error());
    if (*needs && surely_too_much(**needs))
      return Candidate{.strategy = strategy, .needs = **needs, .step = {}, .bounds = bytes_of(**needs)};
  }
  Trial trial(problem, strategy, look);
  if (auto known = trial.from_memory()) return std::move(*known);
  return trial.lower();
}

}  // namespace plimsoll
