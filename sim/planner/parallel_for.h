#pragma once

#include <cstddef>
#include <functional>

namespace plimsoll {

/// Calls `work` once for every index below `count`, begun in their order, by oneTBB on that many threads at most (0:
/// one a core, and never more). An exception is rethrown, and indices that have not begun then may be left out. May be called
/// from within `work`.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& work, unsigned threads = 0);

}  // namespace plimsoll
