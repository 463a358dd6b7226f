#include "sim/answers/near_answer.h"

#include <algorithm>

#include "core/graph/buildable.h"
#include "sim/answers/stack_question.h"
#include "sim/planner/fewer_micro_batches.h"
#include "sim/planner/parallel_for.h"
#include "sim/planner/refine_candidates.h"
#include "sim/planner/search_prepared.h"
#include "sim/planner/strategy_families.h"

namespace plimsoll {
namespace {

constexpr std::size_t kLeast = 2;

/// A strategy for so many layers: shares of more blocks than there are would be refused.
Strategy clamped(Strategy strategy, std::int64_t layers) {
  strategy.activation_blocks = std::min(strategy.activation_blocks, layers);
  strategy.host_activation_blocks = std::min(strategy.host_activation_blocks, strategy.activation_blocks);
  strategy.device_parameter_blocks = std::min(strategy.device_parameter_blocks, layers);
  strategy.device_state_blocks = std::min(strategy.device_state_blocks, layers);
  strategy.host_state_blocks = std::min(strategy.host_state_blocks, layers - strategy.device_state_blocks);
  strategy.device_update_blocks = std::min(strategy.device_update_blocks, layers - strategy.device_state_blocks);
  return strategy;
}

/// The known plans one after another: each has to beat the best before it to be looked at in full.
Result<std::vector<Candidate>> time_known(const SearchProblem& problem, const std::vector<Strategy>& known) {
  std::vector<Candidate> candidates;
  std::optional<Error> refused;
  std::optional<Nanoseconds> best;
  for (const Strategy& strategy : known) {
    auto tried = try_strategy(problem, clamped(strategy, problem.spec.blocks()), {.glance = true, .below = best});
    if (!tried) {
      if (tried.error().kind != ErrorKind::kInput) return fail(tried.error());
      refused = tried.error();
      continue;
    }
    if (tried->fits() && tried->step && !tried->glanced && (!best || *tried->step < *best)) best = tried->step;
    candidates.push_back(std::move(*tried));
  }
  if (candidates.empty() && refused) return fail(*refused);
  return candidates;
}

/// So many known plans at a time are asked for room, behind the first one, which mostly has it.
constexpr std::size_t kAtATime = 4;

/// The known plans up to the first that fits, where nothing is timed.
Result<std::vector<Candidate>> room_of_known(const SearchProblem& problem, const std::vector<Strategy>& known, unsigned threads) {
  std::vector<Candidate> candidates;
  std::optional<Error> refused;
  for (std::size_t begin = 0, count = 1; begin < known.size(); begin += count, count = kAtATime) {
    count = std::min(count, known.size() - begin);
    std::vector<std::optional<Result<Candidate>>> tried(count);
    const auto look = [&](std::size_t i) {
      tried[i] =
          try_strategy(problem, clamped(known[begin + i], problem.spec.blocks()), {.glance = true, .memory = true});
    };
    parallel_for(count, look, threads);
    for (std::optional<Result<Candidate>>& one : tried) {
      if (!*one && one->error().kind != ErrorKind::kInput) return fail(one->error());
      if (!*one) {
        refused = one->error();
        continue;
      }
      candidates.push_back(std::move(**one));
      if (candidates.back().fits()) return candidates;
    }
  }
  if (candidates.empty() && refused) return fail(*refused);
  return candidates;
}

bool complete(const Candidate& candidate) { return candidate.fits() && candidate.step && !candidate.glanced; }

const Candidate& best_of(const std::vector<Candidate>& candidates) {
  return *std::min_element(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if (complete(a) != complete(b)) return complete(a);
    return better(a, b);
  });
}

/// Plans that the question's machine has room for in kind: with a drive that the known ones had not, one of each family
/// that uses it.
std::vector<Strategy> with_drive_families(const Question& question, std::vector<Strategy> known) {
  const auto on_drive = [](const Strategy& s) { return s.name.ends_with("-ssd"); };
  if (!question.platform.space(SpaceKind::kSsd) || std::any_of(known.begin(), known.end(), on_drive)) return known;
  std::vector<std::string> seen;
  for (Strategy& strategy : candidate_strategies(question.spec.blocks(), question.platform, question.recipe.precision,
                                                 question.recipe.adapter.exists())) {
    if (!on_drive(strategy) || strategy.recompute_every > 1 ||
        std::find(seen.begin(), seen.end(), strategy.name) != seen.end())
      continue;
    seen.push_back(strategy.name);
    known.push_back(std::move(strategy));
  }
  return known;
}

/// What is missing is told of the whole model, whatever the search read off shorter ones.
NearAnswer whole_answer(const Question& question, const SearchProblem& problem, const Candidate& best) {
  const auto whole = try_strategy(problem, best.strategy, {.memory = true});
  return short_form(question, whole ? *whole : best);
}

SearchOptions room_options(const Question& question, const NearEffort& effort) {
  return {.strategy = question.strategy,
          .exact = question.exact,
          .instruction_budget = effort.instruction_budget,
          .threads = effort.threads,
          .memory = true};
}

/// Whatever the search of fit comes to, of what was prepared already.
Result<NearAnswer> room_everywhere(const Question& question, SearchProblem problem, const NearEffort& effort) {
  problem.lowered.reset();  // keeps steps in full, of which nothing is asked here
  const auto candidates = search_prepared(problem, room_options(question, effort));
  if (!candidates) return fail(candidates.error());
  const Candidate& best = candidates->front();
  if (best.fits()) return short_form(question, best);
  problem.shorter.reset();
  return whole_answer(question, whole_step(problem), best);
}

/// Whether what was asked for by name, or to the letter, fits; of auto, whatever the search of fit comes to.
Result<NearAnswer> room_by_name(const Question& question, const NearEffort& effort) {
  const auto search = search_plan(question.spec, question.recipe, question.platform, *question.costs,
                                  room_options(question, effort));
  if (!search) return fail(search.error());
  const Candidate& best = search->candidates.front();
  if (best.fits()) return short_form(question, best);
  return whole_answer(question, {question.spec, question.recipe, question.platform, *question.costs}, best);
}

Result<NearAnswer> search_near(const Question& question, const std::vector<Strategy>& known, const NearEffort& effort) {
  if (const auto buildable = check_buildable(question.spec, question.recipe); !buildable) return fail(buildable.error());
  SearchProblem problem = prepared({.spec = question.spec,
                                    .recipe = question.recipe,
                                    .platform = question.platform,
                                    .costs = *question.costs,
                                    .odds = {}},
                                   effort.shared);
  if (effort.memory && problem.graph) problem.shorter = std::make_shared<ShorterModels>(*problem.graph, question.platform);
  const std::vector<Strategy> starts = with_drive_families(question, known);
  auto candidates = effort.memory ? room_of_known(problem, starts, effort.threads) : time_known(problem, starts);
  if (!candidates) return fail(candidates.error());
  const bool found = effort.memory && complete(candidates->back());
  std::size_t longest = 1;
  for (const Candidate& candidate : *candidates) longest = std::max(longest, candidate.instructions);
  const std::size_t most = std::clamp(effort.instruction_budget / longest, kLeast, std::max(kLeast, effort.evaluations));
  if (effort.evaluations > 0 && !found) {
    std::erase_if(*candidates, [](const Candidate& c) { return c.glanced && c.step; });  // known to be slower
    const RefineOptions options{
        .family = {}, .evaluations = most, .threads = effort.threads, .memory = effort.memory, .starts = 1};
    if (const auto refined = refine_candidates(problem, options, *candidates); !refined) return fail(refined.error());
  }
  if (problem.fewer) {
    auto confirmed = confirmed_best(problem, {.memory = effort.memory}, effort.threads, *candidates);
    if (!confirmed) return fail(confirmed.error());
    if (!confirmed->empty()) candidates = std::move(confirmed);  // else all were only glanced at
  }
  const Candidate& best = best_of(*candidates);
  if (!best.fits() && effort.memory && effort.everywhere) return room_everywhere(question, problem, effort);
  if (best.fits() || !problem.shorter) return short_form(question, best);
  problem.shorter.reset();
  return whole_answer(question, whole_step(problem), best);
}

}  // namespace

NearAnswer short_form(const Question& question, const Candidate& plan) {
  NearAnswer answer{.fits = plan.fits(), .certain = plan.fits(), .short_of = plan.shortfall(), .strategy = plan.strategy};
  if (!plan.fits() || !plan.step) return answer;
  answer.step_seconds = to_seconds(*plan.step);
  if (answer.step_seconds <= 0) return answer;
  answer.samples_per_second = static_cast<double>(question.recipe.micro_batch * question.recipe.accumulate) / answer.step_seconds;
  return answer;
}

NearAnswer short_form(const FitAnswer& answer) {
  const bool certain = answer.setup.empty() || answer.memory.front().certain;
  NearAnswer form{.fits = answer.fits, .certain = answer.fits && certain, .strategy = answer.strategy};
  for (const SpaceAnswer& space : answer.memory) form.short_of += std::max(Bytes(0), space.peak - space.usable);
  if (!answer.fits) return form;
  form.step_seconds = answer.step_seconds;
  form.samples_per_second = answer.samples_per_second;
  return form;
}

Result<NearAnswer> near_answer(const Question& question, const std::vector<Strategy>& known, const NearEffort& effort) {
  if (const auto valid = validate(question.recipe, question.spec); !valid) return fail(valid.error());
  if (!question.stack && !question.exact && question.strategy == "auto" && !known.empty())
    return search_near(question, known, effort);
  if (effort.memory && !question.stack) return room_by_name(question, effort);
  const auto answer =
      question.stack
          ? answer_for_stack(question, StackDetail::kVerdict)
          : answer_question(question, {.instruction_budget = effort.instruction_budget,
                                       .threads = effort.threads,
                                       .alternatives = false});
  if (!answer) return fail(answer.error());
  return short_form(*answer);
}

}  // namespace plimsoll
