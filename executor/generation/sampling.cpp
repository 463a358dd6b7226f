#include "executor/generation/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "executor/data/counter_random.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> out_of_range(const char* option, double value, const char* range) {
  return fail({.kind = ErrorKind::kInput, .what = fmt::format("{} {} is not {}", option, value, range), .where = {}, .remedy = {}});
}

struct Choice {
  std::int32_t token;
  double value;  ///< a logit, later its weight
};

bool more_probable(const Choice& a, const Choice& b) {
  return a.value != b.value ? a.value > b.value : a.token < b.token;
}

std::vector<Choice> choices_of(std::span<const float> logits, std::span<const std::int32_t> seen, double penalty) {
  std::vector<Choice> choices(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) choices[i] = {static_cast<std::int32_t>(i), logits[i]};
  if (penalty == 1) return choices;
  for (const std::int32_t token : std::set(seen.begin(), seen.end())) {
    double& value = choices[static_cast<std::size_t>(token)].value;
    value = value > 0 ? value / penalty : value * penalty;
  }
  return choices;
}

/// The most probable ones first, with exp((logit − largest) / temperature) for their values.
void soften(std::vector<Choice>& choices, const SamplingOptions& options) {
  const std::size_t kept =
      options.top_k == 0 ? choices.size() : std::min(choices.size(), static_cast<std::size_t>(options.top_k));
  std::partial_sort(choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(kept), choices.end(), more_probable);
  choices.resize(kept);
  const double largest = choices.front().value;
  for (Choice& choice : choices) choice.value = std::exp((choice.value - largest) / options.temperature);
}

double sum_of(const std::vector<Choice>& choices) {
  return std::accumulate(choices.begin(), choices.end(), 0.0, [](double sum, const Choice& c) { return sum + c.value; });
}

void keep_nucleus(std::vector<Choice>& choices, double top_p) {
  const double enough = top_p * sum_of(choices);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < choices.size() && (kept == 0 || sum < enough)) sum += choices[kept++].value;
  choices.resize(kept);
}

std::int32_t draw(const std::vector<Choice>& choices, double uniform) {
  double rest = uniform * sum_of(choices);
  for (const Choice& choice : choices) {
    if (rest < choice.value) return choice.token;
    rest -= choice.value;
  }
  return choices.back().token;
}

}  // namespace

Result<void> validate(const SamplingOptions& options) {
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature)) {
    return out_of_range("--temperature", options.temperature, "0 or more");
  }
  if (options.top_k < 0) return out_of_range("--top-k", static_cast<double>(options.top_k), "0 (all) or more");
  if (!(options.top_p > 0 && options.top_p <= 1)) return out_of_range("--top-p", options.top_p, "above 0 and at most 1");
  if (!(options.repetition_penalty > 0) || !std::isfinite(options.repetition_penalty)) {
    return out_of_range("--repetition-penalty", options.repetition_penalty, "above 0");
  }
  return {};
}

std::int32_t sample(std::span<const float> logits, std::span<const std::int32_t> seen, const SamplingOptions& options) {
  std::vector<Choice> choices = choices_of(logits, seen, options.repetition_penalty);
  if (options.temperature == 0) return std::min_element(choices.begin(), choices.end(), more_probable)->token;
  soften(choices, options);
  keep_nucleus(choices, options.top_p);
  return draw(choices, to_unit(random_at(options.seed, seen.size())));
}

}  // namespace plimsoll
