#include <catch2/catch.hpp>

#include "formats/models/shape_words.h"
#include "sim/validation/flop_convention.h"

using namespace plimsoll;

TEST_CASE("conventions of counting FLOPs differ as their names say") {
  const auto spec = parse_shape_words("gpt:layers=2,hidden=8,heads=2,vocab=64,positions=16");
  REQUIRE(spec);
  // N = 1000, L·h·s = 2·8·16 = 256, 10 tokens.
  const auto flops = [&](std::string_view name) {
    return convention_flops(*parse_flop_convention(name), *spec, 1000, 16, 10);
  };
  CHECK(flops("6N") == 60000);
  CHECK(flops("8N") == 80000);
  CHECK(flops("6N+12Lhs") == 60000 + 10 * 12 * 256);
  CHECK(flops("6N+6Lhs") == 60000 + 10 * 6 * 256);
  CHECK(flops("8N+16Lhs") == 80000 + 10 * 16 * 256);
  // 72·L·h²·(1 + s/6h + V/12hL) = 72·2·64·(1 + 16/48 + 64/192) = 9216·5/3 = 15360 a token.
  CHECK(flops("megatron") == Approx(153600));
  CHECK_FALSE(parse_flop_convention("7N"));
}
