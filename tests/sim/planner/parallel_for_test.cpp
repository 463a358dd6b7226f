#include "sim/planner/parallel_for.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <mutex>
#include <vector>

namespace plimsoll::test {

TEST_CASE("parallel_for runs every index once and begins with the first ones") {
  // Two threads: when one says that it has begun with i, the other may have been given one index below i and not have said so.
  constexpr std::size_t kCount = 64;
  std::vector<int> begun(kCount, 0);
  long most_skipped = 0;
  std::mutex guard;
  const auto work = [&](std::size_t i) {
    const std::lock_guard lock(guard);
    ++begun[i];
    most_skipped = std::max(most_skipped, std::count(begun.begin(), begun.begin() + static_cast<long>(i), 0));
  };
  for (int repeat = 0; repeat < 100; ++repeat) {
    std::fill(begun.begin(), begun.end(), 0);
    parallel_for(kCount, work, 2);
    CHECK(std::count(begun.begin(), begun.end(), 1) == 64);
  }
  CHECK(most_skipped <= 1);
}

}  // namespace plimsoll::test
