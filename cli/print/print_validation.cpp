#include "cli/print/print_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/print/print_ladders.h"
#include "cli/print/validation_csv.h"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

/// What a wrong verdict weighs among errors when the worst rows are looked for.
constexpr double kWrongVerdict = 10;

double badness(const RowOutcome& outcome) {
  if (const auto error = outcome.error()) return std::abs(*error);
  const bool wrong = *outcome.predicted != outcome.stated.statement->published;
  return wrong ? outcome.certain ? kWrongVerdict : 1.0 : 0.0;
}

bool of_all_rows(const RowFlags& flags) { return flags.files.empty() && flags.family.empty() && flags.metric.empty(); }

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

void print_reasons(const std::vector<RowOutcome>& outcomes) {
  const auto reasons = count_reasons(outcomes);
  if (reasons.empty()) return;
  fmt::print("\nnot compared, by the first reason:\n");
  for (const auto& [reason, count] : reasons) fmt::print("{:>6}  {}\n", count, reason);
}

/// Of a user's own rows each that is not compared, with what it lacks.
void print_lacking(const std::vector<RowOutcome>& outcomes, std::size_t most) {
  std::size_t lacking = 0;
  for (const RowOutcome& outcome : outcomes) {
    if (outcome.predicted || outcome.stated.refusals.empty()) continue;
    if (lacking++ == 0) fmt::print("\nnot compared, by the first reason:\n");
    if (lacking <= most) fmt::print("  {}  {}\n", outcome.row->place, outcome.stated.refusals.front());
  }
  if (lacking > most) fmt::print("  and {} more (--csv has all)\n", lacking - most);
  if (lacking > 0) fmt::print("  systems, models and GPUs are named as in data/published and plimsoll models and machines (docs/validation.md)\n");
}

void print_heading() {
  fmt::print("\n{:<12} {:<24} {:>5} {:>5} {:>8} {:>8} {:>8} {:>8} {:>8}   {:>8} {:>8}   {}\n", "measure", "family", "rows", "fully",
             "median", "mean", "95th", "worst", "bias", "f.median", "f.95th", "order (median / worst) of sweeps");
}

void print_group(const RowGroup& group) {
  const std::string family = group.family.empty() ? "all" : group.family;
  fmt::print("{:<12} {:<24} {:>5} {:>5}", to_text(group.measure), family, group.stated, group.specified);
  if (group.measure == Measure::kFits) {
    const VerdictStatistics& verdicts = group.verdicts;
    fmt::print("   {} verdicts: {} uncertain, {} false \"fits\", {} false \"does not fit\"\n", verdicts.count, verdicts.uncertain,
               verdicts.false_fits, verdicts.false_no);
    return;
  }
  if (group.all.count == 0) return fmt::print("\n");
  fmt::print(" {:>8} {:>8} {:>8} {:>8} {:>8}", percent(group.all.median), percent(group.all.mean), percent(group.all.p95),
             percent(group.all.worst), percent(group.all.bias));
  if (group.fully.count > 0) fmt::print("   {:>8} {:>8}", percent(group.fully.median), percent(group.fully.p95));
  if (group.order) fmt::print("   {:.2f} / {:.2f} of {}", *group.order, *group.worst_order, group.sweeps);
  fmt::print("\n");
}

void print_worst(const std::vector<RowOutcome>& outcomes, std::size_t count) {
  const auto worst = worst_rows(outcomes, count);
  if (worst.empty()) return;
  fmt::print("\nworst rows (predicted, published, error; * fully specified):\n");
  for (const RowOutcome* outcome : worst) {
    const RowStatement& statement = *outcome->stated.statement;
    const auto error = outcome->error();
    fmt::print("{} {:<12} {:>10} {:>10} {:>9}  {}, {}, {} ({})\n", outcome->stated.is_fully_specified() ? '*' : ' ',
               to_text(statement.measure), value_text(statement.measure, *outcome->predicted),
               value_text(statement.measure, statement.published), error ? percent(*error) : outcome->certain ? "" : "uncertain",
               outcome->row->field("system"), outcome->row->field("model"), statement.gpu.name, outcome->row->place);
  }
}

/// A target that no row tells of is missed by all rows there are; of a part of them, or of a user's own, it is left out.
void print_targets(std::vector<TargetResult> targets, bool all_rows) {
  if (!all_rows) std::erase_if(targets, [](const TargetResult& result) { return result.rows == 0; });
  if (targets.empty()) return;
  fmt::print("\n{:<44} {:<10} {:>10} {:>10} {:>6}\n", "targets", "figure", "must be", "is", "rows");
  for (const TargetResult& result : targets) {
    fmt::print("{:<44} {:<10} {:>10.3g} {:>10} {:>6}  {}\n", result.target.name, result.target.statistic, result.target.bound,
               result.reached ? fmt::format("{:.3g}", *result.reached) : "-", result.rows, result.is_missed() ? "missed" : "");
  }
}

void print_text(const std::vector<RowOutcome>& outcomes, const LadderReport& ladders,
                const std::vector<TargetResult>& targets, const RowFlags& flags) {
  std::size_t stated = 0;
  std::size_t specified = 0;
  std::size_t compared = 0;
  for (const RowOutcome& outcome : outcomes) {
    stated += outcome.stated.statement ? 1U : 0U;
    specified += outcome.stated.is_fully_specified() ? 1U : 0U;
    compared += outcome.predicted ? 1U : 0U;
  }
  fmt::print("{} published rows: {} can be stated, {} of them are fully specified; {} are compared\n", outcomes.size(), stated,
             specified, compared);
  const auto groups = summarize_rows(outcomes);
  if (!groups.empty()) print_heading();
  for (const RowGroup& group : groups) print_group(group);
  print_targets(targets, of_all_rows(flags));
  print_ladders(ladders);
  print_worst(outcomes, flags.worst);
  flags.files.empty() ? print_reasons(outcomes) : print_lacking(outcomes, flags.worst);
}

Json to_json(const ErrorStatistics& errors) {
  return {{"rows", errors.count}, {"median", errors.median}, {"mean", errors.mean}, {"p95", errors.p95},
          {"worst", errors.worst}, {"bias", errors.bias}};
}

Json to_json(const VerdictStatistics& verdicts) {
  return {{"rows", verdicts.count}, {"uncertain", verdicts.uncertain}, {"false_fits", verdicts.false_fits},
          {"false_does_not_fit", verdicts.false_no}};
}

Json to_json(const RowGroup& group) {
  Json json{{"measure", to_text(group.measure)}, {"family", group.family.empty() ? "all" : group.family},
            {"stated", group.stated}, {"fully_specified", group.specified}};
  if (group.measure == Measure::kFits) {
    json["verdicts"] = to_json(group.verdicts);
    json["fully_specified_verdicts"] = to_json(group.fully_verdicts);
    return json;
  }
  json["errors"] = to_json(group.all);
  json["fully_specified_errors"] = to_json(group.fully);
  json["sweeps"] = group.sweeps;
  if (group.order) json["rank_correlation"] = Json{{"median", *group.order}, {"worst", *group.worst_order}};
  return json;
}

Json to_json(const TargetResult& result, bool all_rows) {
  return {{"name", result.target.name}, {"measure", to_text(result.target.measure)}, {"statistic", result.target.statistic},
          {"bound", result.target.bound}, {"reached", result.reached ? Json(*result.reached) : Json()}, {"rows", result.rows},
          {"missed", result.is_missed() && (all_rows || result.rows > 0)}};
}

Json to_json(const RowOutcome& outcome) {
  const RowStatement& statement = *outcome.stated.statement;
  Json json{{"place", outcome.row->place}, {"system", outcome.row->field("system")}, {"model", outcome.row->field("model")},
            {"family", outcome.stated.family}, {"gpu", statement.gpu.name}, {"measure", to_text(statement.measure)},
            {"published", statement.published}, {"predicted", *outcome.predicted},
            {"fully_specified", outcome.stated.is_fully_specified()}, {"open", outcome.stated.open}};
  if (const auto error = outcome.error()) json["error"] = *error;
  if (statement.measure == Measure::kFits) json["certain"] = outcome.certain;
  return json;
}

void print_json(const std::vector<RowOutcome>& outcomes, const LadderReport& ladders,
                const std::vector<TargetResult>& targets, const RowFlags& flags) {
  Json json{{"format_version", 1}, {"rows", outcomes.size()}};
  for (const TargetResult& result : targets) json["targets"].push_back(to_json(result, of_all_rows(flags)));
  for (const RowGroup& group : summarize_rows(outcomes)) json["groups"].push_back(to_json(group));
  json["ladders"] = ladders_json(ladders);
  for (const auto& [reason, count] : count_reasons(outcomes)) json["reasons"].push_back({{"reason", reason}, {"rows", count}});
  for (const RowOutcome* outcome : worst_rows(outcomes, flags.worst)) json["worst"].push_back(to_json(*outcome));
  fmt::print("{}\n", json.dump());
}

}  // namespace

std::vector<const RowOutcome*> worst_rows(const std::vector<RowOutcome>& outcomes, std::size_t count) {
  std::vector<const RowOutcome*> compared;
  for (const RowOutcome& outcome : outcomes) {
    if (outcome.predicted) compared.push_back(&outcome);
  }
  std::stable_sort(compared.begin(), compared.end(),
                   [](const RowOutcome* a, const RowOutcome* b) { return badness(*a) > badness(*b); });
  compared.resize(std::min(count, compared.size()));
  return compared;
}

std::string value_text(Measure measure, double value) {
  if (measure == Measure::kFits) return value > 0 ? "fits" : "no";
  if (is_time(measure)) return fmt::format("{:.4g} s", value);
  if (measure == Measure::kLargest) return fmt::format("{:.4g} B parameters", value / 1e9);
  return to_text(Bytes(static_cast<std::int64_t>(value)));
}

void print_validation(const std::vector<RowOutcome>& outcomes, const LadderReport& ladders,
                      const std::vector<TargetResult>& targets, const RowFlags& flags) {
  if (flags.json) return print_json(outcomes, ladders, targets, flags);
  if (flags.csv) return print_validation_csv(outcomes);
  print_text(outcomes, ladders, targets, flags);
}

}  // namespace plimsoll
