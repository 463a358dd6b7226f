#include "executor/data/token_source.h"

#include <catch2/catch.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "executor/data/counter_random.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

std::string write(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  std::ofstream(folder.file(name), std::ios::binary) << bytes;
  return folder.file(name);
}

}  // namespace

TEST_CASE("a text file is its bytes, a .bin file its little-endian 16-bit words") {
  const TemporaryFolder folder;
  const auto text = open_token_source(write(folder, "corpus.txt", "abc\xff"), 256, 3);
  REQUIRE(text);
  CHECK((*text)->size() == 4);
  std::vector<std::int32_t> tokens(3);
  (*text)->read(1, tokens);
  CHECK(tokens == std::vector<std::int32_t>{'b', 'c', 255});

  const auto words =
      open_token_source(write(folder, "corpus.bin", std::string("\x01\x00\x02\x01\xff\xc3", 6)), 50257, 2);
  REQUIRE(words);
  CHECK((*words)->size() == 3);
  (*words)->read(0, tokens);
  CHECK(tokens == std::vector<std::int32_t>{1, 258, 50175});  // 2 + 256, 255 + 256·195
}

TEST_CASE("a corpus that cannot be used is refused with the reason") {
  const TemporaryFolder folder;
  const auto reason = [](const std::string& path, std::int64_t vocabulary, std::int64_t sequence) {
    const auto source = open_token_source(path, vocabulary, sequence);
    REQUIRE_FALSE(source);
    CHECK(source.error().kind == ErrorKind::kInput);
    CHECK(source.error().where == path);
    return source.error().what;
  };
  CHECK_THAT(reason(folder.file("absent.txt"), 256, 1), Catch::Contains("No such file"));
  CHECK_THAT(reason(folder.path(), 256, 1), Catch::Contains("regular file"));
  CHECK_THAT(reason(write(folder, "empty.txt", ""), 256, 1), Catch::Contains("empty"));
  CHECK_THAT(reason(write(folder, "short.txt", "abcd"), 256, 4), Catch::Contains("4 tokens, fewer than the 5"));
  CHECK_THAT(reason(write(folder, "odd.bin", "abc"), 65536, 1), Catch::Contains("odd number"));
  CHECK_THAT(reason(write(folder, "beyond.txt", "aab"), 98, 1), Catch::Contains("token 98 at offset 2 is beyond"));
  std::string large(600000, 'a');  // the offset is right in later chunks too
  large[599998] = 'z';
  CHECK_THAT(reason(write(folder, "large.txt", large), 98, 1), Catch::Contains("token 122 at offset 599998"));
}

TEST_CASE("a corpus that shrinks or changes in use is an error and not a crash") {
  const TemporaryFolder folder;
  const std::string path = write(folder, "corpus.txt", std::string(100000, 'a'));
  const auto source = open_token_source(path, 98, 10);
  REQUIRE(source);
  std::vector<std::int32_t> tokens(11);
  (*source)->read(99989, tokens);
  std::filesystem::resize_file(path, 50000);
  CHECK_THROWS_AS((*source)->read(99000, tokens), EnvironmentError);
  (*source)->read(49989, tokens);
  write(folder, "corpus.txt", std::string(100000, 'b'));
  CHECK_THROWS_WITH((*source)->read(0, tokens), Catch::Contains("token 98 at offset 0"));
}

TEST_CASE("windows lie in the corpus, reach both of its ends, and depend on every part of their place") {
  std::set<std::int64_t> starts;
  for (std::int64_t step = 0; step < 400; ++step) {
    const std::int64_t at = window_start(1, step, 0, 0, 20, 9);  // 20 tokens, windows of 10: starts 0 … 10
    REQUIRE(at >= 0);
    REQUIRE(at <= 10);
    starts.insert(at);
  }
  CHECK(starts.size() == 11);
  CHECK(window_start(1, 0, 0, 0, 5, 4) == 0);  // one window only

  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  const std::set<std::int64_t> places{window_start(1, 0, 0, 0, kLarge, 8), window_start(2, 0, 0, 0, kLarge, 8),
                                      window_start(1, 1, 0, 0, kLarge, 8), window_start(1, 0, 1, 0, kLarge, 8),
                                      window_start(1, 0, 0, 1, kLarge, 8)};
  CHECK(places.size() == 5);
}

TEST_CASE("windows are uniform: a chi-square over 16 bins of 16000 draws stays below its 0.999 quantile") {
  std::array<double, 16> counts{};
  for (std::int64_t i = 0; i < 16000; ++i) {
    counts[static_cast<std::size_t>(window_start(3, i / 40, i % 40 / 8, i % 8, 1601, 1) / 100)] += 1;
  }
  double chi_square = 0;
  for (const double count : counts) chi_square += (count - 1000) * (count - 1000) / 1000;
  CHECK(chi_square < 37.7);  // 15 degrees of freedom
}

TEST_CASE("mix64 is the finalizer of SplitMix64") {
  CHECK(mix64(0) == 0xe220a8397b1dcdafu);  // first output of SplitMix64 seeded with 0 (Vigna's reference)
}

}  // namespace plimsoll
