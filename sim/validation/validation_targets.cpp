#include "sim/validation/validation_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "formats/published/embedded_published.h"
#include "formats/text/csv.h"

namespace plimsoll {
namespace {

constexpr std::string_view kShipped = "data/published/targets.csv";
constexpr std::string_view kOrder = "order";

/// A number of a group and the rows that it is of.
struct Figure {
  double value = 0;
  std::int64_t rows = 0;
};

using ErrorField = double ErrorStatistics::*;
using VerdictField = std::int64_t VerdictStatistics::*;

constexpr std::array<std::pair<std::string_view, ErrorField>, 4> kErrors{{{"median", &ErrorStatistics::median},
                                                                         {"mean", &ErrorStatistics::mean},
                                                                         {"p95", &ErrorStatistics::p95},
                                                                         {"worst", &ErrorStatistics::worst}}};
constexpr std::array<std::pair<std::string_view, VerdictField>, 3> kVerdicts{{{"false_fits", &VerdictStatistics::false_fits},
                                                                             {"uncertain", &VerdictStatistics::uncertain},
                                                                             {"false_no", &VerdictStatistics::false_no}}};

bool is_statistic(std::string_view name) {
  const auto named = [&](const auto& entry) { return entry.first == name; };
  return name == kOrder || std::any_of(kErrors.begin(), kErrors.end(), named) ||
         std::any_of(kVerdicts.begin(), kVerdicts.end(), named);
}

std::optional<Figure> figure_of(const RowGroup& group, const ValidationTarget& target) {
  if (target.statistic == kOrder) {
    return group.order ? std::optional(Figure{*group.order, group.sweeps}) : std::nullopt;
  }
  const ErrorStatistics& errors = target.fully ? group.fully : group.all;
  for (const auto& [name, field] : kErrors) {
    if (name == target.statistic && errors.count > 0) return Figure{errors.*field, errors.count};
  }
  const VerdictStatistics& verdicts = target.fully ? group.fully_verdicts : group.verdicts;
  for (const auto& [name, field] : kVerdicts) {
    if (name != target.statistic || verdicts.count == 0) continue;
    return Figure{static_cast<double>(verdicts.*field) / static_cast<double>(verdicts.count), verdicts.count};
  }
  return std::nullopt;
}

Result<ValidationTarget> read_target(CsvFields& fields) {
  const auto measure = parse_measure(fields.text("measure"));
  ValidationTarget target{.name = fields.text("name"), .measure = measure.value_or(Measure::kAllocated),
                          .family = fields.text("family"), .fully = fields.text("rows") == "fully",
                          .statistic = fields.text("statistic"), .bound = fields.number("bound")};
  if (!measure) fields.refuse("measure", fmt::format("no measure is called '{}'", fields.text("measure")));
  if (!is_statistic(target.statistic)) fields.refuse("statistic", fmt::format("no statistic is called '{}'", target.statistic));
  if (fields.error()) return fail(*fields.error());
  return target;
}

}  // namespace

bool TargetResult::is_missed() const {
  if (!reached) return true;
  return target.statistic == kOrder ? *reached < target.bound : *reached > target.bound;
}

Result<std::vector<ValidationTarget>> read_validation_targets(std::string_view csv, std::string where) {
  const auto table = read_csv(csv, std::move(where));
  if (!table) return fail(table.error());
  std::vector<ValidationTarget> targets;
  for (const CsvRow& row : table->rows) {
    CsvFields fields(*table, row);
    auto target = read_target(fields);
    if (!target) return fail(target.error());
    targets.push_back(std::move(*target));
  }
  return targets;
}

Result<std::vector<ValidationTarget>> shipped_validation_targets() {
  return read_validation_targets(embedded_published(kShipped), std::string(kShipped));
}

std::vector<TargetResult> judge_targets(const std::vector<ValidationTarget>& targets, const std::vector<RowGroup>& groups) {
  std::vector<TargetResult> results;
  for (const ValidationTarget& target : targets) {
    results.push_back({.target = target, .reached = {}, .rows = 0});
    for (const RowGroup& group : groups) {
      if (group.measure != target.measure || group.family != target.family) continue;
      const auto figure = figure_of(group, target);
      if (!figure) continue;
      results.back().reached = figure->value;
      results.back().rows = figure->rows;
    }
  }
  return results;
}

}  // namespace plimsoll
