#include "formats/corpus/pack_rows.h"

#include <catch2/catch.hpp>
#include <random>

namespace plimsoll {
namespace {

/// Tokens first, first + 1, … that all count.
Example counting(TokenId first, std::size_t size) {
  Example example{.tokens = std::vector<TokenId>(size), .counts = std::vector<bool>(size, true)};
  for (std::size_t i = 0; i < size; ++i) example.tokens[i] = first + static_cast<TokenId>(i);
  return example;
}

struct Packed {
  std::vector<Example> rows;
  std::int64_t padding = 0;
  std::int64_t cut = 0;
};

Packed pack(std::int64_t row, const std::vector<Example>& examples) {
  Packed packed;
  RowPacker packer(row, 0, [&](const Example& made) { packed.rows.push_back(made); });
  for (const Example& example : examples) packer.add(example);
  packer.finish();
  packed.padding = packer.padding();
  packed.cut = packer.cut();
  return packed;
}

}  // namespace

TEST_CASE("examples fill rows by best fit, and what stays free is padding that does not count") {
  // Rows of 8. Longest first: 6 → row 0 (2 free); 5 → row 1 (3 free); 3 → row 1 (0 free); 2 → row 0 (0 free); 1 → row 2.
  const Packed packed =
      pack(8, {counting(10, 5), counting(20, 3), counting(30, 6), counting(40, 2), counting(50, 1)});
  REQUIRE(packed.rows.size() == 3);
  CHECK(packed.rows[0].tokens == std::vector<TokenId>{30, 31, 32, 33, 34, 35, 40, 41});
  CHECK(packed.rows[1].tokens == std::vector<TokenId>{10, 11, 12, 13, 14, 20, 21, 22});
  CHECK(packed.rows[2].tokens == std::vector<TokenId>{50, 0, 0, 0, 0, 0, 0, 0});
  CHECK(packed.rows[0].counts == std::vector<bool>{false, true, true, true, true, true, false, true});
  CHECK(packed.rows[2].counts == std::vector<bool>(8, false));
  CHECK(packed.padding == 7);
  CHECK(packed.cut == 0);
}

TEST_CASE("of an example longer than a row every token but the first counts once") {
  // Rows of 4, ten tokens: 0-3, 3-6, 6-9; each part's first token is only there to be read.
  const Packed packed = pack(4, {counting(0, 10)});
  REQUIRE(packed.rows.size() == 3);
  CHECK(packed.cut == 1);
  std::vector<int> counted(10, 0);
  for (const Example& row : packed.rows) {
    for (std::size_t i = 0; i < 4; ++i) counted[static_cast<std::size_t>(row.tokens[i])] += row.counts[i] ? 1 : 0;
  }
  CHECK(counted == std::vector<int>{0, 1, 1, 1, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("rows hold every example whole, and no more rows than half-full ones would need") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<Example> examples;
    std::size_t tokens = 0;
    for (TokenId i = 0; i < 40; ++i) {
      examples.push_back(counting(i * 100, 1 + random() % 16));
      tokens += examples.back().tokens.size();
    }
    const Packed packed = pack(16, examples);
    std::size_t beginnings = 0;
    for (const Example& row : packed.rows) {
      for (std::size_t i = 0; i < row.tokens.size(); ++i) {
        if (i > 0 && row.tokens[i] % 100 != 0) CHECK(row.tokens[i] == row.tokens[i - 1] + 1);
        beginnings += row.tokens[i] % 100 == 0 && row.tokens[i] != 0 ? 1 : 0;
      }
    }
    CHECK(beginnings == 39);  // example 0 begins with 0, as padding does
    CHECK(packed.rows.size() >= (tokens + 15) / 16);
    CHECK(packed.rows.size() <= 2 * (tokens + 15) / 16);
  }
}

}  // namespace plimsoll
