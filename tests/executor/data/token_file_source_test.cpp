#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "core/graph/masked_token.h"
#include "executor/data/batch_rows.h"
#include "formats/corpus/token_file.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

/// Tokens 0 … size − 1, of which those count that leave 1 divided by three.
std::string write(const TemporaryFolder& folder, std::int64_t size, std::int64_t row, std::int64_t vocabulary = 1000) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(size));
  std::iota(tokens.begin(), tokens.end(), 0);
  std::vector<bool> counts;
  for (const std::int32_t token : tokens) counts.push_back(token % 3 == 1);
  TokenFileWriter writer(folder.file("tokens.bin"), vocabulary, row, "digest");
  writer.append(tokens, counts);
  writer.finish();
  return folder.file("tokens.bin");
}

}  // namespace

TEST_CASE("a token file's tokens carry in their sign whether they count") {
  const TemporaryFolder folder;
  for (const std::int64_t vocabulary : {1000, 100000}) {  // two bytes a token, and four
    const auto source = open_token_source(write(folder, 100, 0, vocabulary), 1000, 4);
    if (!source) FAIL(source.error().text());
    CHECK((*source)->size() == 100);
    CHECK((*source)->masked());
    std::vector<std::int32_t> out(20);
    (*source)->read(13, out);
    for (std::int32_t i = 0; i < 20; ++i) {
      const std::int32_t element = out[static_cast<std::size_t>(i)];
      CHECK(token_id(element) == 13 + i);
      CHECK(counts_as_target(element) == ((13 + i) % 3 == 1));
    }
    CHECK((*source)->counted(13, 20) == 7);  // 13, 16, … 31
    CHECK((*source)->counted(0, 100) == 33);
    CHECK((*source)->counted(14, 2) == 0);
  }
}

TEST_CASE("rows that were packed for another sequence, and tokens beyond the vocabulary, are refused") {
  const TemporaryFolder folder;
  const std::string path = write(folder, 40, 8);
  CHECK(open_token_source(path, 1000, 7));
  const auto other = open_token_source(path, 1000, 15);
  REQUIRE_FALSE(other);
  CHECK_THAT(other.error().what, Catch::Contains("packed for sequences of 7 tokens, not 15"));
  CHECK_THAT(other.error().remedy, Catch::Contains("--seq 7"));
  const auto small = open_token_source(path, 39, 7);
  REQUIRE_FALSE(small);
  CHECK_THAT(small.error().what, Catch::Contains("token 39 at offset 39 is beyond the vocabulary of 39"));
}

TEST_CASE("packed rows come each once before any comes again, in another order every time") {
  const TemporaryFolder folder;
  const auto source = open_token_source(write(folder, 7 * 8, 8), 1000, 7);
  REQUIRE(source);
  const BatchRows batch{.seed = 5, .micro_batches = 2, .rows = 3, .sequence = 7};
  std::vector<std::int64_t> starts;  // 14 of 7 rows: steps of 6 rows
  for (std::int64_t i = 0; i < 14; ++i) starts.push_back(row_start(**source, batch, i / 6, i % 6 / 3, i % 3));
  const std::set<std::int64_t> all{0, 8, 16, 24, 32, 40, 48};
  CHECK(std::set<std::int64_t>(starts.begin(), starts.begin() + 7) == all);
  CHECK(std::set<std::int64_t>(starts.begin() + 7, starts.end()) == all);
  CHECK_FALSE(std::equal(starts.begin(), starts.begin() + 7, starts.begin() + 7));
}

TEST_CASE("the counted targets of a step are those of all its rows, without each row's first token") {
  const TemporaryFolder folder;
  const auto source = open_token_source(write(folder, 7 * 8, 8), 1000, 7);
  REQUIRE(source);
  const BatchRows batch{.seed = 5, .micro_batches = 2, .rows = 3, .sequence = 7};
  CountedTargets targets(**source, batch);
  for (const std::int64_t step : {0, 1, 0, 20, 1}) {
    std::int64_t wanted = 0;
    for (std::int64_t i = 0; i < 6; ++i) {
      const std::int64_t start = row_start(**source, batch, step, i / 3, i % 3);
      for (std::int64_t token = start + 1; token < start + 8; ++token) wanted += token % 3 == 1 ? 1 : 0;
    }
    CHECK(targets.of_step(step) == wanted);
  }
}

}  // namespace plimsoll
