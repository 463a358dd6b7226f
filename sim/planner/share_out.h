#pragma once

#include <cstddef>

namespace plimsoll {

/// Work that has an index.
class IndexedWork {
 public:
  virtual void run(std::size_t index) = 0;

 protected:
  ~IndexedWork() = default;
};

/// Calls `run` once for every index below `count` by oneTBB, on that many threads at most (0: one a core). Its source is built
/// without the thread sanitizer, which takes oneTBB's hand-overs for races; what orders the threads is for the work to
/// say.
void share_out(std::size_t count, IndexedWork& work, unsigned threads);

}  // namespace plimsoll
