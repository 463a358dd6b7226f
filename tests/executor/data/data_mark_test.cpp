#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "executor/data/data_mark.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

std::string text_of_mark(const std::string& path) {
  const auto mark = mark_data(path);
  if (!mark) FAIL(mark.error().text());
  return mark->text;
}

void write(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

void put(const std::string& path, std::int64_t at, char byte) {
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(at).put(byte);
}

}  // namespace

TEST_CASE("data have one mark under any name, and another one after any byte changed") {
  const TemporaryFolder folder;
  write(folder.file("a"), "");
  // XXH3 of nothing, from its specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md and tests):
  // 2d06800538d394c2.
  CHECK(text_of_mark(folder.file("a")) == "0 bytes, xxh3 2d06800538d394c2");
  const std::string text(200'000, 'x');  // three parts of 65536 and some
  write(folder.file("a"), text);
  write(folder.file("b"), text);
  const std::string before = text_of_mark(folder.file("a"));
  CHECK(text_of_mark(folder.file("b")) == before);
  for (const std::int64_t at : {0, 65535, 65536, 131071, 199'999}) {
    CAPTURE(at);
    put(folder.file("b"), at, 'y');
    CHECK(text_of_mark(folder.file("b")) != before);
    put(folder.file("b"), at, 'x');
    CHECK(text_of_mark(folder.file("b")) == before);
  }
  write(folder.file("b"), text + "x");
  CHECK(text_of_mark(folder.file("b")) != before);
}

TEST_CASE("of more than a GiB the mark is of parts from the first byte to the last, and of the length") {
  const TemporaryFolder folder;
  write(folder.file("a"), "");
  std::filesystem::resize_file(folder.file("a"), kGiB);  // without a block on the disk
  CHECK(text_of_mark(folder.file("a")).find("parts") == std::string::npos);
  constexpr std::int64_t kSize = kGiB + 70'000;
  std::filesystem::resize_file(folder.file("a"), kSize);
  const std::string before = text_of_mark(folder.file("a"));
  CHECK(before.starts_with("1073811824 bytes, xxh3 "));
  CHECK(before.ends_with(" of parts"));
  for (const std::int64_t at : {std::int64_t{0}, kSize - 1}) {
    put(folder.file("a"), at, 'y');
    CHECK(text_of_mark(folder.file("a")) != before);
    put(folder.file("a"), at, '\0');
  }
  CHECK(text_of_mark(folder.file("a")) == before);
  std::filesystem::resize_file(folder.file("a"), kSize + 1);
  CHECK(text_of_mark(folder.file("a")) != before);
}

TEST_CASE("a state says what data it is of; one that says nothing goes with any") {
  const DataMark mine{"mine.bin", "5 bytes, xxh3 0000000000000001"},
      other{"other.bin", "5 bytes, xxh3 0000000000000002"};
  const DataMark renamed{"renamed.bin", mine.text};
  std::map<std::string, std::string> metadata;
  CHECK(check_same_data("state", metadata, mine));
  put_mark(mine, metadata);
  CHECK(check_same_data("state", metadata, renamed));
  const auto refused = check_same_data("state", metadata, other);
  REQUIRE(!refused);
  for (const char* word : {"mine.bin", "other.bin", "0000000000000001", "0000000000000002", "--other-data"}) {
    CHECK_THAT(refused.error().text(), Catch::Contains(word));
  }
}

}  // namespace plimsoll
