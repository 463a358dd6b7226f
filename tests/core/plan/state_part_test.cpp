#include "core/plan/state_part.h"

#include <catch2/catch.hpp>

namespace plimsoll {

TEST_CASE("a stretch of a slice has of each run what lies in it") {
  // The slice has elements 10 to 13, then 30 to 35, of the whole: 0 to 3 and 4 to 9 of its own. Its elements 2 to 5 are the
  // whole's 12 and 13, then 30 and 31.
  const std::vector<ElementRun> runs{{10, 0, 4}, {30, 4, 6}};
  CHECK(runs_between(runs, {2, 4}) == std::vector<ElementRun>{{12, 0, 2}, {30, 2, 2}});
  CHECK(runs_between(runs, {4, 6}) == std::vector<ElementRun>{{30, 0, 6}});
  CHECK(runs_between(runs, {3, 0}).empty());
}

}  // namespace plimsoll
