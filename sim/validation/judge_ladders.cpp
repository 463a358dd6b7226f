#include "sim/validation/judge_ladders.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace plimsoll {
namespace {

double share(Bytes a, Bytes b) { return static_cast<double>(a.count) / static_cast<double>(b.count); }

LadderOutcome& ladder_of(std::vector<LadderOutcome>& ladders, const LadderRung& rung, const PublishedRow& row) {
  const auto known = std::find_if(ladders.begin(), ladders.end(),
                                  [&](const LadderOutcome& ladder) { return ladder.ladder == rung.ladder; });
  if (known != ladders.end()) return *known;
  return ladders.emplace_back(LadderOutcome{.family = rung.family,
                                            .ladder = rung.ladder,
                                            .place = row.place,
                                            .need = rung.program + locked_for(rung.waiting),
                                            .failed = {},
                                            .ran = {}});
}

void add(LadderOutcome& ladder, const LadderRung& rung) {
  if (rung.ran) ladder.ran = std::min(ladder.ran.value_or(rung.cap), rung.cap);
  if (!rung.ran) ladder.failed = std::max(ladder.failed.value_or(rung.cap), rung.cap);
  ++ladder.rungs;
  if ((ladder.need <= rung.cap) == rung.ran) ++ladder.right;
}

RowGroup group_of(std::string family, const std::vector<double>& distances) {
  RowGroup group;
  group.measure = Measure::kLadder;
  group.family = std::move(family);
  group.stated = group.specified = static_cast<std::int64_t>(distances.size());
  group.all = group.fully = summarize_errors(distances);
  return group;
}

}  // namespace

double LadderOutcome::off() const {
  if (failed && need <= *failed) return share(need, *failed) - 1;
  if (ran && need > *ran) return share(need, *ran) - 1;
  return 0;
}

LadderReport judge_ladders(const std::vector<PublishedRow>& rows, const std::vector<ReadingRule>& rules,
                           std::string_view family) {
  LadderReport report;
  for (const PublishedRow& row : rows) {
    if (!is_rung(row, rules)) continue;
    const auto rung = state_rung(row, rules);
    if (!rung) {
      report.refusals.push_back(fmt::format("{}: {}", row.place, rung.error().what));
    } else if (family.empty() || family == rung->family) {
      add(ladder_of(report.ladders, *rung, row), *rung);
    }
  }
  return report;
}

std::vector<RowGroup> summarize_ladders(const std::vector<LadderOutcome>& ladders) {
  std::vector<RowGroup> groups;
  std::vector<double> all;
  std::map<std::string, std::vector<double>> families;
  for (const LadderOutcome& ladder : ladders) {
    all.push_back(ladder.off());
    families[ladder.family].push_back(ladder.off());
  }
  if (all.empty()) return groups;
  groups.push_back(group_of({}, all));
  for (const auto& [family, distances] : families) groups.push_back(group_of(family, distances));
  return groups;
}

}  // namespace plimsoll
