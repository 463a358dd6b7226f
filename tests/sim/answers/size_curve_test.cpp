#include "sim/answers/size_curve.h"

#include <catch2/catch.hpp>

#include <algorithm>

namespace plimsoll {
namespace {

TEST_CASE("a family's ladder has its models from the smallest, one of each size") {
  const auto ladder = published_ladder("qwen3");
  REQUIRE(ladder);
  const auto has = [&](const char* name) { return std::ranges::find(*ladder, name) != ladder->end(); };
  CHECK(ladder->front() == "qwen3-0.6b");
  CHECK(ladder->back() == "qwen3-235b-a22b");
  CHECK(has("qwen3-4b"));
  CHECK_FALSE(has("qwen3-4b-2507"));  // of longer positions, and as many parameters
  CHECK(published_ladder("gpt2").value() == std::vector<std::string>{"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"});
}

TEST_CASE("a family that the zoo has not is refused with the nearest") {
  const auto ladder = published_ladder("qwen33");
  REQUIRE_FALSE(ladder);
  CHECK(ladder.error().where == "--family");
  CHECK_THAT(ladder.error().remedy, Catch::Contains("qwen3"));
}

}  // namespace
}  // namespace plimsoll
