#include <catch2/catch.hpp>

#include <random>
#include <set>

#include "sim/memory/free_blocks.h"

namespace plimsoll {

TEST_CASE("free blocks are found as a sorted set finds them, whatever comes and goes") {
  std::mt19937 random(3);
  FreeBlocks blocks;
  std::set<FreeBlock> known;
  for (int step = 0; step < 20000; ++step) {
    const auto size = static_cast<std::int64_t>(512 * (1 + random() % 40));
    if (known.empty() || random() % 9 < (step < 12000 ? 5u : 4u)) {
      const FreeBlock block{.size = size, .address = step, .id = static_cast<std::uint32_t>(step)};
      blocks.insert(block);
      known.insert(block);
    } else {
      const auto first = known.lower_bound({.size = size, .address = INT64_MIN});
      const FreeBlock gone = first == known.end() ? *known.begin() : *first;
      blocks.erase(blocks.place_of(gone));
      known.erase(gone);
    }
    const auto wanted = known.lower_bound({.size = size, .address = INT64_MIN});
    const auto found = blocks.at_least(size);
    REQUIRE(blocks.is_end(found) == (wanted == known.end()));
    if (wanted == known.end()) continue;
    REQUIRE(blocks.at(found).id == wanted->id);
    const auto behind = blocks.after(found);
    REQUIRE(blocks.is_end(behind) == (std::next(wanted) == known.end()));
    if (!blocks.is_end(behind)) REQUIRE(blocks.at(behind).id == std::next(wanted)->id);
  }
  std::size_t seen = 0;
  blocks.for_each([&](const FreeBlock& block) { seen += known.count(block); });
  CHECK(seen == known.size());
}

}  // namespace plimsoll
