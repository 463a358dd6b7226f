#include "core/plan/packing_task.h"

#include <algorithm>

namespace plimsoll {

std::vector<TimeSpan> TaskBuffer::spans_in_use() const {
  std::vector<TimeSpan> sorted = gaps;
  std::sort(sorted.begin(), sorted.end(), [](const TimeSpan& a, const TimeSpan& b) { return a.begin < b.begin; });
  std::vector<TimeSpan> spans;
  std::int64_t from = life.begin;
  for (const TimeSpan& gap : sorted) {
    if (from < gap.begin) spans.push_back({from, gap.begin});
    from = std::max(from, gap.end);
  }
  if (from < life.end) spans.push_back({from, life.end});
  return spans;
}

}  // namespace plimsoll
