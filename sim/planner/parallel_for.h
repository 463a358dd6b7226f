#pragma once

#include <cstddef>
#include <functional>

namespace plimsoll {

/// Calls `work` once for every index below `count`, on that many threads (0: one a core). An exception is rethrown.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& work, unsigned threads = 0);

}  // namespace plimsoll
