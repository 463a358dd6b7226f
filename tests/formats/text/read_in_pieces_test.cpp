#include <catch2/catch.hpp>
#include <fstream>
#include <mutex>
#include <stdexcept>

#include "formats/text/read_in_pieces.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

constexpr std::int64_t kSize = 5'000'003;  // no multiple of anything

std::byte byte_at(std::int64_t place) { return static_cast<std::byte>((place * 2654435761) >> 13); }

OpenFile sample(const TemporaryFolder& folder) {
  std::string text(static_cast<std::size_t>(kSize), '\0');
  for (std::int64_t i = 0; i < kSize; ++i) text[static_cast<std::size_t>(i)] = static_cast<char>(byte_at(i));
  std::ofstream(folder.file("sample"), std::ios::binary) << text;
  return std::move(*OpenFile::for_reading(folder.file("sample")));
}

}  // namespace

TEST_CASE("every byte of a range comes once, in pieces of the asked size, wherever the range begins and ends") {
  const TemporaryFolder folder;
  const OpenFile file = sample(folder);
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, kSize}, {1, kSize - 1}, {4097, 4'100'001}, {4095, 2}, {7, 0}}) {
    for (const std::int64_t piece : {1'000'000, 2'097'153}) {
      std::mutex mutex;
      std::vector<int> seen(static_cast<std::size_t>(count), 0);
      bool right = true;
      read_in_pieces(file, Bytes(first), Bytes(count), Bytes(piece), [&](Bytes at, std::span<const std::byte> bytes) {
        const std::scoped_lock lock(mutex);
        CHECK(at.count % piece == 0);
        CHECK(static_cast<std::int64_t>(bytes.size()) == std::min(piece, count - at.count));
        for (std::size_t i = 0; i < bytes.size(); ++i) {
          ++seen[static_cast<std::size_t>(at.count) + i];
          right = right && bytes[i] == byte_at(first + at.count + static_cast<std::int64_t>(i));
        }
      });
      CHECK(right);
      CHECK(std::count(seen.begin(), seen.end(), 1) == count);
    }
  }
}

TEST_CASE("what a reader of pieces throws arrives, and a range beyond the file's end is named") {
  const TemporaryFolder folder;
  const OpenFile file = sample(folder);
  const auto throws = [](Bytes at, std::span<const std::byte>) {
    if (at > Bytes(2'000'000)) throw std::runtime_error("enough");
  };
  CHECK_THROWS_WITH(read_in_pieces(file, Bytes(0), Bytes(kSize), Bytes(1'000'000), throws), "enough");
  const auto nothing = [](Bytes, std::span<const std::byte>) {};
  CHECK_THROWS_AS(read_in_pieces(file, Bytes(0), Bytes(kSize + 9000), Bytes(1'500'000), nothing), EnvironmentError);
}

}  // namespace plimsoll::test
