#include "sim/planner/operators/plan_operators.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/planner/operators/evict_online.h"
#include "sim/planner/operators/operators_bound.h"
#include "sim/planner/operators/spare_runs.h"
#include "sim/planner/operators/weigh_runs.h"
#include "sim/planner/parallel_for.h"

namespace plimsoll {
namespace {

using Cost = EvictionRule::Cost;
using Age = EvictionRule::Age;

/// DTR's runtime gives up when it computes as much again as the program does.
constexpr double kOnlineLimit = 1;
constexpr double kOwnLimit = 20;
/// What a rule is told that there is: it frees later than it might, so its order may need less.
constexpr std::array kTold{1.0, 1.04, 1.1, 1.2};
/// Orders that are made better; disturbed rules come from as many of the best undisturbed ones.
constexpr std::size_t kBestOrders = 12, kBestRules = 6;
constexpr std::size_t kMostDisturbed = 240;
/// A look takes about so many nanoseconds; one attempt may look at a hundredth of all the work, and at three times as
/// much as DTR's.
constexpr std::uint64_t kLookWork = 10;
constexpr std::uint64_t kAttemptShare = 100;
constexpr std::uint64_t kOnlineTimes = 3;
constexpr std::uint64_t kLongerTimes = 25;

struct NamedRule {
  std::string name;
  EvictionRule rule;
};

std::vector<NamedRule> online_rules() {
  return {{"dtr", {.cost = Cost::kBoth}},
          {"dtr-eq", {.cost = Cost::kClasses}},
          {"dtr-local", {.cost = Cost::kOwn}},
          {"msps", {.cost = Cost::kAncestors, .age = Age::kNone}},
          {"lru", {.cost = Cost::kNone, .age = Age::kLeastRecent}},
          {"largest", {.cost = Cost::kNone, .age = Age::kNone}}};
}

std::vector<EvictionRule> own_rules() {
  std::vector<EvictionRule> rules;
  for (const NamedRule& named : online_rules()) rules.push_back(named.rule);
  for (const bool eager : {true, false}) {
    for (const Cost cost : {Cost::kOwn, Cost::kAncestors, Cost::kBoth, Cost::kClasses, Cost::kNone}) {
      rules.push_back({.cost = cost, .age = Age::kAhead, .eager = eager});
      if (cost != Cost::kNone) rules.push_back({.cost = cost, .age = Age::kNone, .eager = eager});
    }
    rules.push_back({.cost = Cost::kNone, .age = Age::kAhead, .by_size = false, .eager = eager});
  }
  return rules;
}

/// One attempt, and what came of it.
struct Attempt {
  EvictionRule rule;
  double told = 1;
  OnlineLimits limits = {.most_again = kOwnLimit};
  OperatorRuns runs = {};  ///< empty where there is none within the budget
  Nanoseconds time = {};
  std::uint64_t looks = 0;
};

class Search {
 public:
  /// `online_looks`: the most of any of DTR's heuristics that succeeds.
  Search(const OperatorGraph& graph, const StorageLinks& links, Bytes budget, const OperatorSearch& search,
         std::uint64_t online_looks)
      : graph_(graph),
        links_(links),
        budget_(budget),
        search_(search),
        most_looks_(search.work / kLookWork / kAttemptShare + kOnlineTimes * online_looks) {}

  /// All of the rules as they are, then as many disturbed ones as the work allows; the best orders of all, made better.
  std::vector<Attempt> run() {
    std::vector<Attempt> all;
    for (const EvictionRule& rule : own_rules()) {
      for (const double told : kTold) all.push_back({.rule = rule, .told = told, .limits = {kOwnLimit, most_looks_}});
    }
    for (const NamedRule& named : online_rules())
      all.push_back({.rule = named.rule, .limits = {kOnlineLimit, search_.work / kLongerTimes}});
    attempt(all, 0);
    if (std::all_of(all.begin(), all.end(), [](const Attempt& attempt) { return attempt.runs.empty(); }))
      look_longer(all);
    const std::size_t undisturbed = all.size();
    disturb(all);
    attempt(all, undisturbed);
    keep_best(all, kBestOrders);
    const std::uint64_t each = search_.work / (4 * kBestOrders);
    parallel_for(
        all.size(), [&](std::size_t i) { take(all[i], spare_runs(graph_, all[i].runs, budget_, each)); },
        search_.threads);
    keep_best(all, 1);
    return all;
  }

 private:
  void take(Attempt& attempt, OperatorRuns runs) const {
    const RunsWeight weight = weigh_runs(graph_, runs);
    if (weight.peak > budget_) return;
    attempt.runs = without_useless(runs, weight);
    attempt.time = weight.time;
  }

  void attempt(std::vector<Attempt>& all, std::size_t from) const {
    const auto one = [&](std::size_t i) {
      Attempt& attempt = all[from + i];
      const auto told = static_cast<std::int64_t>(static_cast<double>(budget_.count) * attempt.told);
      OnlineRun online = evict_online(graph_, links_, Bytes(told), attempt.rule, attempt.limits);
      attempt.looks = online.looks;
      if (online.runs) take(attempt, std::move(*online.runs));
    };
    parallel_for(all.size() - from, one, search_.threads);
  }

  /// Where memory is scarce much is made again and again before a program ends.
  void look_longer(std::vector<Attempt>& all) const {
    std::erase_if(all, [](const Attempt& attempt) { return attempt.told > 1; });
    for (Attempt& attempt : all) attempt.limits.most_looks *= kLongerTimes;
    attempt(all, 0);
  }

  /// By time, those with no order left out.
  static void keep_best(std::vector<Attempt>& all, std::size_t most) {
    std::erase_if(all, [](const Attempt& attempt) { return attempt.runs.empty(); });
    std::stable_sort(all.begin(), all.end(), [](const Attempt& a, const Attempt& b) { return a.time < b.time; });
    if (all.size() > most) all.resize(most);
  }

  /// Where nothing was found, disturbed rules may find something.
  void disturb(std::vector<Attempt>& all) const {
    std::uint64_t looks = 1;
    for (const Attempt& attempt : all) looks += attempt.looks / all.size() + attempt.runs.size() / all.size();
    std::vector<Attempt> best = all;
    keep_best(best, kBestRules);
    if (best.empty())
      best = {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), 2 * kBestRules))};
    const std::size_t count =
        std::min<std::size_t>(kMostDisturbed, static_cast<std::size_t>(search_.work / (2 * kLookWork * looks)));
    for (std::size_t i = 0; i < count; ++i) {
      Attempt attempt{
          .rule = best[i % best.size()].rule, .told = best[i % best.size()].told, .limits = {kOwnLimit, most_looks_}};
      attempt.rule.disturb = std::array{0.2, 0.5, 1.0}[i / best.size() % 3];
      attempt.rule.seed = static_cast<std::uint32_t>(i + 1);
      all.push_back(std::move(attempt));
    }
  }

  const OperatorGraph& graph_;
  const StorageLinks& links_;
  Bytes budget_;
  OperatorSearch search_;
  std::uint64_t most_looks_;
};

struct Baselines {
  std::vector<OperatorPlan> plans;
  std::uint64_t looks = 0;  ///< the most of any that succeeds
};

Result<Baselines> baselines_of(const OperatorGraph& graph, const StorageLinks& links, Bytes budget,
                               const OperatorSearch& search) {
  const std::vector<NamedRule> rules = online_rules();
  std::vector<OperatorPlan> plans(rules.size());
  std::vector<std::uint64_t> looks(rules.size(), 0);
  std::vector<std::optional<Error>> defects(rules.size());
  const auto one = [&](std::size_t i) {
    plans[i].name = rules[i].name;
    const OnlineRun online = evict_online(graph, links, budget, rules[i].rule, {kOnlineLimit, search.work});
    if (!online.runs) return;
    looks[i] = online.looks;
    const auto replay = replay_operators(graph, with_frees(graph, *online.runs));
    if (replay) plans[i].replay = *replay;
    if (!replay) defects[i] = replay.error();
  };
  parallel_for(rules.size(), one, search.threads);
  for (const auto& defect : defects) {
    if (defect) return fail(*defect);
  }
  return Baselines{std::move(plans), *std::max_element(looks.begin(), looks.end())};
}

}  // namespace

Result<OperatorAnswer> plan_operators(const OperatorGraph& graph, Bytes budget, const OperatorSearch& search) {
  OperatorRuns once;
  for (std::size_t i = 0; i < graph.operators.size(); ++i) once.emplace_back(i);
  const RunsWeight base = weigh_runs(graph, once);
  OperatorAnswer answer{
      .budget = budget, .base_time = base.time, .base_peak = base.peak, .least_bytes = least_operator_bytes(graph)};
  answer.lower_bound = operators_bound(graph, budget);
  if (!answer.lower_bound) return answer;
  const StorageLinks links(graph);
  auto baselines = baselines_of(graph, links, budget, search);
  if (!baselines) return fail(baselines.error());
  answer.baselines = std::move(baselines->plans);
  std::vector<Attempt> found{{.rule = {}, .runs = once, .time = base.time}};
  if (base.peak > budget) found = Search(graph, links, budget, search, baselines->looks).run();
  if (found.empty()) return answer;
  answer.schedule = with_frees(graph, found.front().runs);
  const auto replay = replay_operators(graph, answer.schedule);
  if (!replay) return fail(replay.error());
  if (replay->peak > budget)
    return fail(
        {.kind = ErrorKind::kDefect, .what = "the schedule needs more than its budget", .where = {}, .remedy = {}});
  answer.best = OperatorPlan{"plimsoll", *replay};
  return answer;
}

}  // namespace plimsoll
