#include "sim/planner/share_out.h"

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace plimsoll {
namespace {

/// One index a task: looks differ much in how long they take. A thread that waits for what an index shares out in turn takes up
/// nothing from outside; who waits for the outermost loop helps with all that its indices share out, or the last of them would
/// have one thread less.
void in_this_arena(std::size_t count, IndexedWork& work) {
  const auto some = [&](const tbb::blocked_range<std::size_t>& range) {
    for (std::size_t i = range.begin(); i != range.end(); ++i) tbb::this_task_arena::isolate([&] { work.run(i); });
  };
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, 1), some, tbb::simple_partitioner());
}

}  // namespace

void share_out(std::size_t count, IndexedWork& work, unsigned threads) {
  const auto cores = static_cast<unsigned>(tbb::info::default_concurrency());
  if (threads == 0 || threads >= cores) return in_this_arena(count, work);
  tbb::task_arena arena(static_cast<int>(threads));
  arena.execute([&] { in_this_arena(count, work); });
}

}  // namespace plimsoll
