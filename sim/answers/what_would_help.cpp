#include "sim/answers/what_would_help.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/answers/room_bound.h"
#include "sim/planner/parallel_for.h"

namespace plimsoll {
namespace {

/// Plans to start from: today's, and the best of each family that was not taken, the fastest first, whether they fit or not.
std::vector<Strategy> known_plans(const FitAnswer& today) {
  std::vector<std::pair<double, Strategy>> plans{{today.step_seconds, today.strategy}};
  for (const AlternativeAnswer& other : today.alternatives) plans.emplace_back(other.step_seconds, other.choices);
  std::stable_sort(plans.begin(), plans.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Strategy> known;
  for (auto& [step, strategy] : plans) known.push_back(std::move(strategy));
  return known;
}

double samples_rate(const NearAnswer& answer, const Question& question) {
  const double per_sample = question.spec.reads_images() ? 1.0 : static_cast<double>(question.recipe.sequence);
  return answer.samples_per_second * per_sample;
}

ChangeOutcome outcome_of(const Change& change, const NearAnswer& answer, double today, bool fits_today, const PriceList& prices) {
  ChangeOutcome outcome{.kind = change.kind, .name = change.name, .effect = change.effect, .answer = answer};
  outcome.makes_fit = answer.fits && !fits_today;
  if (answer.fits && fits_today) outcome.speed_up = samples_rate(answer, change.question) / today;
  outcome.price = prices.total(change.purchases);
  if (outcome.price && outcome.speed_up >= ChangeOutcome::kLeastSpeedUp)
    outcome.price_of_speed = *outcome.price / (outcome.speed_up - 1);
  return outcome;
}

using Answers = std::vector<std::optional<Result<NearAnswer>>>;

NearEffort glance(const std::shared_ptr<SharedSteps>& shared) { return {.evaluations = 0, .shared = shared}; }
NearEffort room(const std::shared_ptr<SharedSteps>& shared) {
  return {.evaluations = 60, .instruction_budget = kInstructionBudget, .memory = true, .shared = shared};
}
constexpr std::size_t kGpusSearched = 4;
constexpr std::size_t kOthersSearched = 8;

/// Changes that are searched as `fit` searches: what has a price that is paid, and drives, whose plans are nothing like
/// those of a machine without.
bool searched_in_full(const Change& change, const PriceList& prices) {
  return prices.total(change.purchases).value_or(0) > 0 || change.kind == "drive";
}

/// Whether plans near the known ones were looked at alone.
bool stays_near(const Change& change) {
  return !change.question.stack && change.question.strategy == "auto" && !change.question.exact;
}

/// The changes after which known plans need not be the end of it: the most promising of the GPUs and of all others, and what is
/// searched in full. Others keep the plan that is known, which makes their speed-up a lower bound.
std::vector<std::size_t> worth_a_search(const std::vector<Change>& changes, const Answers& answers, const PriceList& prices) {
  std::vector<std::size_t> chosen, gpus, others;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!*answers[i] || !stays_near(changes[i])) continue;
    if (searched_in_full(changes[i], prices)) chosen.push_back(i);
    else (changes[i].kind == "GPU" ? gpus : others).push_back(i);
  }
  const auto rate = [&](std::size_t i) { return std::pair((*answers[i])->samples_per_second, -(*answers[i])->short_of.count); };
  for (auto [list, most] : {std::pair(&gpus, kGpusSearched), std::pair(&others, kOthersSearched)}) {
    std::stable_sort(list->begin(), list->end(), [&](std::size_t a, std::size_t b) { return rate(a) > rate(b); });
    if (list->size() > most) list->resize(most);
    chosen.insert(chosen.end(), list->begin(), list->end());
  }
  return chosen;
}

/// What the searches of all changes have in common.
struct Looks {
  const std::vector<Strategy>& known;   ///< plans to start from
  std::shared_ptr<SharedSteps> shared;  ///< most changes are of rates and sizes
  unsigned threads = 0;
};

/// Goes on from the best of the known plans.
void search_on(const Question& question, const Looks& looks, std::optional<Result<NearAnswer>>& answer) {
  std::vector<Strategy> seeds{(*answer)->strategy};
  if (!(*answer)->fits) seeds.insert(seeds.end(), looks.known.begin(), looks.known.end());
  if (auto better = near_answer(question, seeds, {.shared = looks.shared})) answer = std::move(better);
}

/// Searches as `fit` does, from the best of the known plans too; that one stays where it is faster.
void search_all(const Question& question, const Looks& looks, std::optional<Result<NearAnswer>>& answer) {
  const auto searched = best_candidate(
      question, {.seeds = {(*answer)->strategy}, .threads = looks.threads, .shared = looks.shared});
  if (!searched || !searched->fits()) return;
  const NearAnswer found = short_form(question, *searched);
  if (!(*answer)->fits || found.step_seconds < (*answer)->step_seconds) answer = found;
}

/// No known plan fits, and that says little where all memories together hold what must be held: looks for one that fits,
/// whatever its time. Then that one is timed.
void look_for_room(const Question& question, const Looks& looks, std::optional<Result<NearAnswer>>& answer) {
  if (!*answer || (*answer)->fits || beyond_all_memory(question).count > 0) return;
  const auto found = near_answer(question, looks.known, room(looks.shared));
  if (!found || !found->fits) return;
  if (auto timed = near_answer(question, {found->strategy}, glance(looks.shared))) answer = std::move(timed);
}

/// Whether a plan that is near no known one may make the training fit.
bool may_have_room(const Change& change, const std::optional<Result<NearAnswer>>& answer, const PriceList& prices) {
  if (!*answer || (*answer)->fits || !stays_near(change) || searched_in_full(change, prices)) return false;
  return beyond_all_memory(change.question).count <= 0;
}

/// Looks wherever `fit` would for plans with room after the changes that nothing known fits. What is found for one is tried
/// for the others before these are searched: boards of one size mostly take the same.
void look_everywhere(const std::vector<Change>& changes, const Looks& looks, const PriceList& prices, Answers& answers) {
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (may_have_room(changes[i], answers[i], prices)) left.push_back(i);
  }
  NearEffort everywhere = room(looks.shared);
  everywhere.everywhere = true;
  everywhere.threads = looks.threads;
  while (!left.empty()) {
    const auto found = near_answer(changes[left.front()].question, looks.known, everywhere);
    if (!found || !found->fits) {
      left.erase(left.begin());
      continue;
    }
    const auto try_found = [&](std::size_t i) {
      auto timed = near_answer(changes[left[i]].question, {found->strategy}, glance(looks.shared));
      if (timed && timed->fits) answers[left[i]] = std::move(timed);
    };
    parallel_for(left.size(), try_found, looks.threads);
    const std::size_t first = left.front();
    std::erase_if(left, [&](std::size_t i) { return i == first || (*answers[i])->fits; });
  }
}

/// Of one kind those that are searched as `fit` searches go one after another: side by side they would lower the same strategies at
/// the same time, and so the second finds most of what the first lowered.
void search_closer(const std::vector<Change>& changes, const std::vector<std::size_t>& closer, const Looks& looks,
                   const PriceList& prices, Answers& answers) {
  std::vector<std::vector<std::size_t>> in_full;
  std::vector<std::size_t> on;
  for (const std::size_t i : closer) {
    const auto same_kind = [&](const std::vector<std::size_t>& row) { return changes[row.front()].kind == changes[i].kind; };
    if (!searched_in_full(changes[i], prices)) {
      on.push_back(i);
    } else if (const auto row = std::find_if(in_full.begin(), in_full.end(), same_kind); row != in_full.end()) {
      row->push_back(i);
    } else {
      in_full.push_back({i});
    }
  }
  const auto look = [&](std::size_t task) {
    if (task >= in_full.size()) {
      const std::size_t i = on[task - in_full.size()];
      return search_on(changes[i].question, looks, answers[i]);
    }
    for (const std::size_t i : in_full[task]) search_all(changes[i].question, looks, answers[i]);
  };
  parallel_for(in_full.size() + on.size(), look, looks.threads);
}

bool comes_first(const ChangeOutcome& a, const ChangeOutcome& b) {
  const auto key = [](const ChangeOutcome& o) { return std::tuple(!o.makes_fit, -o.speed_up, -o.answer.samples_per_second); };
  return key(a) < key(b);
}

}  // namespace

Result<HelpAnswer> what_would_help(const Question& question, const PriceList& prices, unsigned threads) {
  const auto shared = std::make_shared<SharedSteps>();
  auto today = answer_question(question, {.threads = threads, .shared = shared});
  if (!today) return fail(today.error());
  const std::vector<Strategy> known = question.stack ? std::vector<Strategy>{} : known_plans(*today);
  const NearAnswer now = short_form(*today);
  const double rate = samples_rate(now, question);
  const std::vector<Change> changes = list_changes(question);
  const Looks looks{known, shared, threads};
  Answers answers(changes.size());
  const auto look_near = [&](std::size_t i) {
    answers[i] = near_answer(changes[i].question, known, glance(shared));
    if (stays_near(changes[i]) && !searched_in_full(changes[i], prices))
      look_for_room(changes[i].question, looks, answers[i]);
  };
  parallel_for(changes.size(), look_near, threads);
  if (!now.fits) look_everywhere(changes, looks, prices, answers);
  const std::vector<std::size_t> closer = worth_a_search(changes, answers, prices);
  search_closer(changes, closer, looks, prices, answers);
  HelpAnswer help{.today = std::move(*today), .outcomes = {}, .refused = {}};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Result<NearAnswer>& answer = *answers[i];
    if (!answer) help.refused.push_back(fmt::format("{}: {}", changes[i].name, answer.error().what));
    else help.outcomes.push_back(outcome_of(changes[i], *answer, rate, now.fits, prices));
    if (answer) help.outcomes.back().at_least = stays_near(changes[i]) && !searched_in_full(changes[i], prices);
  }
  std::stable_sort(help.outcomes.begin(), help.outcomes.end(), comes_first);
  return help;
}

}  // namespace plimsoll
