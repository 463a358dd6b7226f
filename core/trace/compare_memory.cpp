#include "core/trace/compare_memory.h"

#include <algorithm>

namespace plimsoll {
namespace {

/// Spaces and categories that either side knows, the first side's in its order, then others of the second. Where one side does not
/// divide what it says of a space by category, none are listed.
class MemoryRows {
 public:
  void add(const Plan& plan, const Trace& trace, Bytes ComparedMemory::*whole, Bytes ComparedMemory::Category::*part) {
    for (const SpacePeak& peak : trace.peaks) {
      Row& row = of_space(plan.platform.at(peak.space).name);
      row.memory.*whole = peak.bytes;
      row.divided = row.divided && !peak.by_category.empty();
      for (const auto& [kind, bytes] : peak.by_category) of_kind(row.memory, kind).*part = bytes;
    }
  }

  [[nodiscard]] std::vector<ComparedMemory> take() {
    std::vector<ComparedMemory> taken;
    for (Row& row : rows_) {
      if (!row.divided) row.memory.by_category.clear();
      taken.push_back(std::move(row.memory));
    }
    return taken;
  }

 private:
  struct Row {
    ComparedMemory memory;
    bool divided = true;
  };

  Row& of_space(const std::string& name) {
    const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.memory.space == name; });
    if (found != rows_.end()) return *found;
    return rows_.emplace_back(Row{.memory = {.space = name, .predicted = {}, .measured = {}, .by_category = {}}});
  }
  /// In the order of the kinds.
  static ComparedMemory::Category& of_kind(ComparedMemory& memory, TensorKind kind) {
    auto& all = memory.by_category;
    const auto at = std::lower_bound(all.begin(), all.end(), kind, [](const auto& row, TensorKind k) { return row.kind < k; });
    if (at != all.end() && at->kind == kind) return *at;
    return *all.insert(at, ComparedMemory::Category{kind, {}, {}});
  }

  std::vector<Row> rows_;
};

}  // namespace

std::vector<ComparedMemory> compare_memory(const Plan& first_plan, const Trace& first, const Plan& second_plan, const Trace& second) {
  if (first.peaks.empty() || second.peaks.empty()) return {};
  MemoryRows rows;
  rows.add(first_plan, first, &ComparedMemory::predicted, &ComparedMemory::Category::predicted);
  rows.add(second_plan, second, &ComparedMemory::measured, &ComparedMemory::Category::measured);
  return rows.take();
}

}  // namespace plimsoll
