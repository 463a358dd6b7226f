#include "sim/planner/packing/verify_task_packing.h"

#include <algorithm>
#include <utility>

namespace plimsoll {
namespace {

/// A stretch of time in which a buffer is in use.
struct Piece {
  TimeSpan span;
  std::size_t buffer = 0;
};

tl::unexpected<Error> defect(std::string what) { return fail({.kind = ErrorKind::kDefect, .what = std::move(what)}); }

Result<void> check_apart(const PackingTask& task, const TaskPacking& packing, std::vector<Piece> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.span.begin < b.span.begin; });
  for (std::size_t a = 0; a < pieces.size(); ++a) {
    for (std::size_t b = a + 1; b < pieces.size() && pieces[b].span.begin < pieces[a].span.end; ++b) {
      const std::size_t i = pieces[a].buffer, j = pieces[b].buffer;
      if (packing.offsets[i] < packing.offsets[j] + task[j].size && packing.offsets[j] < packing.offsets[i] + task[i].size) {
        return defect("buffers " + task[i].id + " and " + task[j].id + " share bytes at a time");
      }
    }
  }
  return {};
}

}  // namespace

Result<void> verify_task_packing(const PackingTask& task, const TaskPacking& packing) {
  if (packing.offsets.size() != task.size()) return defect("a packing must give every buffer an offset");
  Bytes height;
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < task.size(); ++i) {
    const Bytes offset = packing.offsets[i];
    if (offset.count < 0 || offset.count % task[i].alignment.count != 0 || (task[i].offset && *task[i].offset != offset)) {
      return defect("buffer " + task[i].id + " lies where it must not");
    }
    height = std::max(height, offset + task[i].size);
    for (const TimeSpan& span : task[i].spans_in_use()) pieces.push_back({span, i});
  }
  if (height != packing.height) return defect("the height is not as stated");
  return check_apart(task, packing, std::move(pieces));
}

}  // namespace plimsoll
