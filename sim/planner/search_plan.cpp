#include "sim/planner/search_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <future>
#include <iterator>
#include <set>
#include <thread>

#include "core/base/nearest_names.h"
#include "sim/des/simulate.h"

namespace plimsoll {
namespace {

std::vector<std::int64_t> recompute_choices(std::int64_t layers) {
  const auto root = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(layers))));
  std::set<std::int64_t> choices{1, 2, std::max<std::int64_t>(1, root)};
  return {choices.begin(), choices.end()};
}

bool chosen(const Strategy& strategy, const SearchOptions& options) {
  return options.strategy == "auto" || options.strategy == strategy.name;
}

Result<void> check_name(const std::string& wanted, const std::vector<Strategy>& all) {
  std::vector<std::string> names{"auto"};
  for (const Strategy& strategy : all) {
    if (std::find(names.begin(), names.end(), strategy.name) == names.end()) names.push_back(strategy.name);
  }
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return {};
  return fail({.kind = ErrorKind::kUnknownName,
               .what = fmt::format("unknown strategy '{}'", wanted),
               .where = {},
               .remedy = did_you_mean(wanted, names)});
}

void sort_candidates(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if (a.fits() != b.fits()) return a.fits();
    return a.fits() ? *a.step < *b.step : a.shortfall() < b.shortfall();
  });
}

/// A candidate and, if it fits, its plan.
struct Trial {
  Candidate candidate;
  std::optional<Plan> plan;
};

Result<Trial> try_strategy(const ModelSpec& spec, const Recipe& recipe, const Platform& platform, const CostModel& costs,
                           const Strategy& strategy, bool evaluation) {
  auto plan = lower_to_plan(spec, recipe, platform, strategy, {.evaluation = evaluation, .only_if_fits = true});
  if (!plan) return fail(plan.error());
  Trial trial{.candidate = {.strategy = strategy, .needs = space_needs(*plan), .step = {}}, .plan = {}};
  if (!trial.candidate.fits()) return trial;
  const auto trace = simulate(*plan, "step", costs, {.steps = kPredictedSteps, .keep_events = false});
  if (!trace) return fail(trace.error());
  trial.candidate.step = trace->steps[steady_step(*trace)].duration();
  trial.plan = std::move(*plan);
  return trial;
}

/// Calls `work` once for every index below `count`, on as many threads as there are cores. An exception is rethrown.
void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto claim = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::future<void>> others;
  for (unsigned t = 1; t < std::thread::hardware_concurrency() && t < count; ++t) others.push_back(std::async(std::launch::async, claim));
  claim();
  for (std::future<void>& other : others) other.get();
}

}  // namespace

bool Candidate::fits() const {
  return std::all_of(needs.begin(), needs.end(), [](const SpaceNeed& need) { return need.fits(); });
}

Bytes Candidate::shortfall() const {
  Bytes missing;
  for (const SpaceNeed& need : needs) missing += std::max(Bytes(0), need.needed - need.usable);
  return missing;
}

std::vector<Strategy> candidate_strategies(std::int64_t layers, const Platform& platform, Precision precision) {
  const std::vector<std::int64_t> recompute = recompute_choices(layers);
  std::vector<Strategy> all{{.name = "resident"}};
  for (const std::int64_t every : recompute) all.push_back({.name = "recompute", .recompute_every = every});
  std::vector<std::int64_t> with_none{0};
  with_none.insert(with_none.end(), recompute.begin(), recompute.end());
  for (const Tier gradients : {Tier::kDevice, Tier::kHost}) {
    for (const std::int64_t every : with_none) {
      all.push_back({.name = "offload-optimizer", .recompute_every = every, .optimizer = Tier::kHost, .gradients = gradients});
    }
  }
  for (const std::int64_t every : with_none) {
    all.push_back({.name = "stream", .recompute_every = every, .parameters = Tier::kHost, .optimizer = Tier::kHost,
                   .gradients = Tier::kHost});
  }
  if (!platform.space(SpaceKind::kSsd)) return all;
  for (const std::int64_t every : with_none) {
    all.push_back({.name = "offload-optimizer-ssd", .recompute_every = every, .optimizer = Tier::kSsd,
                   .gradients = Tier::kHost, .staging_slots = 3});
  }
  for (const Tier parameters : {Tier::kHost, Tier::kSsd}) {
    if (parameters == Tier::kHost && !has_master_copy(precision)) continue;  // fp32 weights are the optimizer's own
    for (const std::int64_t every : recompute) {
      all.push_back({.name = "stream-ssd", .recompute_every = every, .parameters = parameters, .optimizer = Tier::kSsd,
                     .gradients = Tier::kHost});
    }
  }
  return all;
}

Result<SearchResult> search_plan(const ModelSpec& spec, const Recipe& recipe, const Platform& platform, const CostModel& costs,
                                 const SearchOptions& options) {
  const std::vector<Strategy> all = candidate_strategies(spec.layers, platform, recipe.precision);
  if (const auto known = check_name(options.strategy, all); !known) return fail(known.error());
  std::vector<Strategy> wanted;
  std::copy_if(all.begin(), all.end(), std::back_inserter(wanted), [&](const Strategy& s) { return chosen(s, options); });
  std::vector<std::optional<Result<Trial>>> trials(wanted.size());
  for_each_in_parallel(wanted.size(), [&](std::size_t i) {
    trials[i] = try_strategy(spec, recipe, platform, costs, wanted[i], options.evaluation);
  });
  SearchResult result;
  std::optional<Nanoseconds> fastest;
  for (std::optional<Result<Trial>>& trial : trials) {
    if (!*trial) return fail(trial->error());
    Candidate& candidate = (*trial)->candidate;
    if (candidate.step && (!fastest || *candidate.step < *fastest)) {
      fastest = candidate.step;
      result.plan = std::move((*trial)->plan);
    }
    result.candidates.push_back(std::move(candidate));
  }
  sort_candidates(result.candidates);
  if (!result.plan) return result;
  auto prediction = predict(*result.plan, costs);
  if (!prediction) return fail(prediction.error());
  result.prediction = std::move(*prediction);
  return result;
}

}  // namespace plimsoll
