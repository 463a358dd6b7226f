#include "cli/print/validation_markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/print/print_ladders.h"
#include "cli/print/print_validation.h"

namespace plimsoll {
namespace {

constexpr std::size_t kWorstRows = 25;

constexpr std::string_view kIntroduction =
    "# Results: predictions against measurements\n\n"
    "Made by `plimsoll validate --markdown --runs bench/results/accuracy.json --recorded data/measured/h100-sxm5 > RESULTS.md`; a test holds that this page is\n"
    "what the command prints. docs/validation.md says how a row is read, when it is fully specified, and what each figure is.\n"
    "Errors are shares of the published value; in brackets, the rows they are of.\n";

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string figure(const TargetResult& result) {
  if (!result.reached) return "no row tells";
  const bool order = result.target.statistic == "order";
  return fmt::format("{} ({})", order ? fmt::format("{:.2f}", *result.reached) : percent(*result.reached), result.rows);
}

std::string bound(const ValidationTarget& target) {
  if (target.statistic == "order") return fmt::format("at least {:.2f}", target.bound);
  return fmt::format("at most {}", percent(target.bound));
}

std::string target_table(const std::vector<TargetResult>& targets, bool missed) {
  std::string text;
  for (const TargetResult& result : targets) {
    if (result.is_missed() != missed) continue;
    text += fmt::format("| {} | {} | {} | {} |\n", result.target.name, result.target.statistic, bound(result.target),
                        figure(result));
  }
  if (text.empty()) return missed ? "None.\n" : "None yet.\n";
  return "| what | figure | must be | is |\n|---|---|---|---|\n" + text;
}

std::string family_line(const RowGroup& group) {
  const std::string family = group.family.empty() ? "**all**" : group.family;
  const std::string head = fmt::format("| {} | {} | {} | {} |", to_text(group.measure), family, group.stated, group.specified);
  if (group.all.count == 0) return head + " | | | | | |\n";
  const std::string order = group.order ? fmt::format("{:.2f}", *group.order) : "";
  const std::string fully = group.fully.count > 0 ? percent(group.fully.median) : "";
  return head + fmt::format(" {} | {} | {} | {} | {} | {} |\n", group.all.count, percent(group.all.median),
                            percent(group.all.p95), percent(group.all.bias), fully, order);
}

std::string verdict_line(const RowGroup& group) {
  const VerdictStatistics& verdicts = group.verdicts;
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", group.family.empty() ? "**all**" : group.family, group.stated,
                     verdicts.count, verdicts.uncertain, verdicts.false_fits, verdicts.false_no);
}

std::string family_tables(const std::vector<RowGroup>& groups) {
  std::string errors =
      "| measure | family | stated | fully specified | compared | median | 95th | bias | median of fully specified | order |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  std::string verdicts =
      "\n| verdicts of family | stated | compared | uncertain | false \"fits\" | false \"does not fit\" |\n"
      "|---|---:|---:|---:|---:|---:|\n";
  for (const RowGroup& group : groups) {
    if (group.measure == Measure::kFits) {
      verdicts += verdict_line(group);
    } else {
      errors += family_line(group);
    }
  }
  return errors + verdicts;
}

std::string worst_table(const std::vector<RowOutcome>& outcomes) {
  std::string text = "| measure | predicted | published | error | row | |\n|---|---:|---:|---:|---|---|\n";
  for (const RowOutcome* outcome : worst_rows(outcomes, kWorstRows)) {
    const RowStatement& statement = *outcome->stated.statement;
    const auto error = outcome->error();
    text += fmt::format("| {} | {} | {} | {} | {}, {}, {} ({}) | {} |\n", to_text(statement.measure),
                        value_text(statement.measure, *outcome->predicted), value_text(statement.measure, statement.published),
                        error ? percent(*error) : "", outcome->row->field("system"), outcome->row->field("model"),
                        statement.gpu.name, outcome->row->place, outcome->stated.is_fully_specified() ? "fully specified" : "");
  }
  return text;
}

std::string run_text(const StoredAccuracy& run) {
  std::string text = fmt::format(
      "`{}` on {}, {}: {} attempts, {} of them undisturbed. Median error of the step time {}, worst {}, bias {}; two runs\n"
      "of one plan differ by {}.\n\n| plan | median error |\n|---|---:|\n",
      run.command, run.machine, run.date, run.attempts, run.valid, percent(run.median), percent(run.worst), percent(run.bias),
      percent(run.noise));
  for (const auto& [plan, error] : run.by_plan) text += fmt::format("| {} | {} |\n", plan, percent(error));
  return text;
}

std::string coverage(const std::vector<RowOutcome>& outcomes) {
  const auto count = [&](const auto& holds) { return std::count_if(outcomes.begin(), outcomes.end(), holds); };
  std::string text = fmt::format(
      "Of {} published rows {} can be stated and {} are compared. Why the others are not:\n\n"
      "| rows | first reason |\n|---:|---|\n",
      outcomes.size(), count([](const RowOutcome& row) { return row.stated.statement.has_value(); }),
      count([](const RowOutcome& row) { return row.predicted.has_value(); }));
  for (const auto& [reason, rows] : count_reasons(outcomes)) text += fmt::format("| {} | {} |\n", rows, reason);
  return text;
}

}  // namespace

std::string validation_markdown(const std::vector<RowOutcome>& outcomes, const std::vector<LadderOutcome>& ladders,
                                const std::vector<TargetResult>& targets, const OwnRuns& runs) {
  std::string text(kIntroduction);
  text += "\n## Missed\n\n" + target_table(targets, true);
  text += "\n## Reached\n\n" + target_table(targets, false);
  if (!runs.stored.empty() || !runs.recorded.empty()) text += "\n## Our own runs\n\n";
  for (const StoredAccuracy& run : runs.stored) text += run_text(run);
  if (!runs.recorded.empty()) text += (runs.stored.empty() ? "" : "\n") + runs.recorded;
  text += "\n## By family\n\n" + family_tables(summarize_rows(outcomes));
  text += ladders_markdown(ladders);
  text += "\n## Worst rows\n\n" + worst_table(outcomes);
  text += "\n## Coverage\n\n" + coverage(outcomes);
  return text;
}

}  // namespace plimsoll
