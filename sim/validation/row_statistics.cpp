#include "sim/validation/row_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "sim/cost/quantile.h"
#include "sim/validation/rank_order.h"

namespace plimsoll {
namespace {

using Sweep = std::vector<std::pair<double, double>>;
constexpr std::size_t kSmallestSweep = 4;

/// What is gathered of a group before its statistics are made.
struct Gathered {
  RowGroup group;
  std::vector<double> errors;
  std::vector<double> fully;
  std::map<std::string, Sweep> sweeps;
};

void count_verdict(VerdictStatistics& verdicts, const RowOutcome& outcome) {
  const bool fits = *outcome.predicted > 0;
  const bool ran = outcome.stated.statement->published > 0;
  ++verdicts.count;
  if (!outcome.certain) ++verdicts.uncertain;
  if (outcome.certain && fits && !ran) ++verdicts.false_fits;
  if (outcome.certain && !fits && ran) ++verdicts.false_no;
}

std::string sweep_key(const RowOutcome& outcome) {
  const PublishedRow& row = *outcome.row;
  std::string key;
  for (const std::string_view column : {"system", "model", "gpu", "metric"}) {
    key += row.field(column);
    key += '\n';
  }
  return key;
}

/// By what configurations are put in order: bytes, or tokens a second on all GPUs.
double preferred(const RowStatement& statement, double value) {
  if (!is_step(statement.measure)) return value;
  return static_cast<double>(statement.recipe.tokens_per_step() * statement.setup.data_ranks) / value;
}

void gather(Gathered& gathered, const RowOutcome& outcome) {
  const bool fully = outcome.stated.is_fully_specified();
  ++gathered.group.stated;
  if (fully) ++gathered.group.specified;
  if (!outcome.predicted) return;
  if (gathered.group.measure == Measure::kFits) {
    count_verdict(gathered.group.verdicts, outcome);
    if (fully) count_verdict(gathered.group.fully_verdicts, outcome);
    return;
  }
  gathered.errors.push_back(*outcome.error());
  if (fully) gathered.fully.push_back(*outcome.error());
  const RowStatement& statement = *outcome.stated.statement;
  gathered.sweeps[sweep_key(outcome)].emplace_back(preferred(statement, statement.published),
                                                preferred(statement, *outcome.predicted));
}

bool is_sweep(const Sweep& sweep) {
  std::set<double> values;
  for (const auto& [published, predicted] : sweep) values.insert(published);
  return values.size() >= kSmallestSweep;
}

void order_sweeps(Gathered& gathered) {
  std::vector<double> orders;
  for (const auto& [key, sweep] : gathered.sweeps) {
    if (!is_sweep(sweep)) continue;
    ++gathered.group.sweeps;
    orders.push_back(rank_correlation(sweep).value_or(0));
  }
  if (orders.empty()) return;
  std::sort(orders.begin(), orders.end());
  gathered.group.worst_order = orders.front();
  gathered.group.order = quantile(orders, 0.5);
}

std::string reason_of(const RowOutcome& outcome) {
  const std::string& first = outcome.stated.refusals.front();
  return first.substr(0, first.find(':'));
}

}  // namespace

ErrorStatistics summarize_errors(std::vector<double> signed_errors) {
  ErrorStatistics statistics;
  statistics.count = static_cast<std::int64_t>(signed_errors.size());
  if (signed_errors.empty()) return statistics;
  const auto count = static_cast<double>(signed_errors.size());
  statistics.bias = std::accumulate(signed_errors.begin(), signed_errors.end(), 0.0) / count;
  for (double& error : signed_errors) error = std::abs(error);
  std::sort(signed_errors.begin(), signed_errors.end());
  statistics.mean = std::accumulate(signed_errors.begin(), signed_errors.end(), 0.0) / count;
  statistics.median = quantile(signed_errors, 0.5);
  statistics.p95 = quantile(signed_errors, 0.95);
  statistics.worst = signed_errors.back();
  return statistics;
}

std::vector<RowGroup> summarize_rows(const std::vector<RowOutcome>& outcomes) {
  std::map<std::pair<Measure, std::string>, Gathered> groups;
  for (const RowOutcome& outcome : outcomes) {
    if (!outcome.stated.statement) continue;
    const Measure measure = outcome.stated.statement->measure;
    for (const std::string& family : {std::string(), outcome.stated.family}) {
      Gathered& gathered = groups[{measure, family}];
      gathered.group.measure = measure;
      gathered.group.family = family;
      gather(gathered, outcome);
    }
  }
  std::vector<RowGroup> summary;
  for (auto& [key, gathered] : groups) {
    gathered.group.all = summarize_errors(gathered.errors);
    gathered.group.fully = summarize_errors(gathered.fully);
    order_sweeps(gathered);
    summary.push_back(std::move(gathered.group));
  }
  return summary;
}

std::vector<std::pair<std::string, std::int64_t>> count_reasons(const std::vector<RowOutcome>& outcomes) {
  std::map<std::string, std::int64_t> counts;
  for (const RowOutcome& outcome : outcomes) {
    if (!outcome.predicted && !outcome.stated.refusals.empty()) ++counts[reason_of(outcome)];
  }
  std::vector<std::pair<std::string, std::int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

}  // namespace plimsoll
