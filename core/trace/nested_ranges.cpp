#include "core/trace/nested_ranges.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace plimsoll {

std::vector<const MarkedRange*> nested_ranges(const Recording& recording) {
  std::vector<const MarkedRange*> nested;
  nested.reserve(recording.ranges.size());
  for (const MarkedRange& range : recording.ranges) nested.push_back(&range);
  std::stable_sort(nested.begin(), nested.end(), [](const MarkedRange* a, const MarkedRange* b) {
    return std::tie(a->start, b->end) < std::tie(b->start, a->end);
  });
  return nested;
}

std::vector<OperatorTotal> operator_totals(const Recording& recording) {
  std::map<std::uint32_t, OperatorTotal> by_name;
  std::map<std::uint32_t, std::vector<const MarkedRange*>> open;  // by thread, outermost first
  for (const MarkedRange* range : nested_ranges(recording)) {
    if (range->kind != RangeKind::kOperator) continue;
    std::vector<const MarkedRange*>& around = open[range->thread];
    while (!around.empty() && around.back()->end <= range->start) around.pop_back();
    const Nanoseconds time = range->end - range->start;
    // One that only overlaps takes no more from the one before than they share.
    if (!around.empty()) by_name[around.back()->name.index].own -= std::min(range->end, around.back()->end) - range->start;
    OperatorTotal& total = by_name[range->name.index];
    ++total.count;
    total.own += time;
    around.push_back(range);
  }
  std::vector<OperatorTotal> totals;
  for (auto& [name, total] : by_name) {
    total.name = recording.names.at(NameId(name));
    totals.push_back(std::move(total));
  }
  std::stable_sort(totals.begin(), totals.end(), [](const auto& a, const auto& b) { return a.own > b.own; });
  return totals;
}

}  // namespace plimsoll
