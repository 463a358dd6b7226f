#include "sim/validation/judge_parallel.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace plimsoll {
namespace {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

ParallelOutcome judge(const PublishedRow& row, const std::vector<ReadingRule>& rules) {
  ParallelOutcome outcome{.row = &row};
  const auto stated = state_parallel(row, rules);
  if (!stated) {
    outcome.refusal = stated.error().what;
    return outcome;
  }
  outcome.family = stated->family;
  outcome.machine = stated->machine;
  outcome.layout = stated->question.layout;
  outcome.published = stated->seconds;
  const auto answer = predict_parallel(stated->question);
  if (!answer)
    outcome.refusal = answer.error().text();
  else
    outcome.predicted = outcome.scaled = answer->step_seconds;
  return outcome;
}

}  // namespace

std::map<std::string, double> machine_scalars(const std::vector<ParallelOutcome>& outcomes) {
  std::map<std::string, std::vector<double>> ratios;
  for (const ParallelOutcome& outcome : outcomes) {
    if (outcome.is_predicted()) ratios[outcome.machine].push_back(outcome.published / outcome.predicted);
  }
  std::map<std::string, double> scalars;
  for (auto& [machine, own] : ratios) scalars[machine] = median_of(std::move(own));
  return scalars;
}

std::vector<ParallelOutcome> judge_parallel(const std::vector<PublishedRow>& rows,
                                            const std::vector<ReadingRule>& rules) {
  std::vector<ParallelOutcome> outcomes;
  for (const PublishedRow& row : rows) outcomes.push_back(judge(row, rules));
  const auto scalars = machine_scalars(outcomes);
  for (ParallelOutcome& outcome : outcomes) {
    if (outcome.is_predicted()) outcome.scaled = outcome.predicted * scalars.at(outcome.machine);
  }
  return outcomes;
}

ParallelErrors parallel_errors(const std::vector<ParallelOutcome>& outcomes, const std::string& family) {
  std::vector<double> errors;
  ParallelErrors sums;
  for (const ParallelOutcome& outcome : outcomes) {
    if (!outcome.is_predicted() || (!family.empty() && outcome.family != family)) continue;
    errors.push_back(std::abs(outcome.error()));
    sums.mean += std::abs(outcome.error());
    sums.bias += outcome.error();
    sums.worst = std::max(sums.worst, std::abs(outcome.error()));
    sums.scaled_mean += std::abs(outcome.scaled_error());
    sums.scaled_worst = std::max(sums.scaled_worst, std::abs(outcome.scaled_error()));
  }
  sums.rows = errors.size();
  if (errors.empty()) return sums;
  const auto count = static_cast<double>(errors.size());
  sums.mean /= count;
  sums.bias /= count;
  sums.scaled_mean /= count;
  sums.median = median_of(std::move(errors));
  return sums;
}

std::vector<std::string> parallel_families(const std::vector<ParallelOutcome>& outcomes) {
  std::set<std::string> names;
  for (const ParallelOutcome& outcome : outcomes) {
    if (outcome.is_predicted()) names.insert(outcome.family);
  }
  return {names.begin(), names.end()};
}

}  // namespace plimsoll
