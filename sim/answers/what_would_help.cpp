#include "sim/answers/what_would_help.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/planner/parallel_for.h"

namespace plimsoll {
namespace {

/// Plans to start from: today's, and the best of each family that was not taken.
std::vector<Strategy> known_plans(const FitAnswer& today) {
  std::vector<Strategy> known{today.strategy};
  for (const AlternativeAnswer& other : today.alternatives) known.push_back(other.choices);
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
  if (outcome.price && outcome.speed_up >= ChangeOutcome::kLeastSpeedUp) outcome.price_of_speed = *outcome.price / (outcome.speed_up - 1);
  return outcome;
}

bool comes_first(const ChangeOutcome& a, const ChangeOutcome& b) {
  const auto key = [](const ChangeOutcome& o) { return std::tuple(!o.makes_fit, -o.speed_up, -o.answer.samples_per_second); };
  return key(a) < key(b);
}

}  // namespace

Result<HelpAnswer> what_would_help(const Question& question, const PriceList& prices, unsigned threads) {
  auto today = answer_question(question, {.threads = threads});
  if (!today) return fail(today.error());
  const std::vector<Strategy> known = question.stack ? std::vector<Strategy>{} : known_plans(*today);
  const NearAnswer now = short_form(*today);
  const double rate = samples_rate(now, question);
  const std::vector<Change> changes = list_changes(question);
  std::vector<std::optional<Result<NearAnswer>>> answers(changes.size());
  parallel_for(changes.size(), [&](std::size_t i) { answers[i] = near_answer(changes[i].question, known); }, threads);
  HelpAnswer help{.today = std::move(*today), .outcomes = {}, .refused = {}};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Result<NearAnswer>& answer = *answers[i];
    if (!answer) help.refused.push_back(fmt::format("{}: {}", changes[i].name, answer.error().what));
    else help.outcomes.push_back(outcome_of(changes[i], *answer, rate, now.fits, prices));
  }
  std::stable_sort(help.outcomes.begin(), help.outcomes.end(), comes_first);
  return help;
}

}  // namespace plimsoll
