#include "executor/tiers/chunk_sums.h"

#include <catch2/catch.hpp>

#include <vector>

namespace plimsoll {
namespace {

std::vector<std::byte> bytes_of(std::size_t count, int value) { return std::vector<std::byte>(count, std::byte(value)); }

}  // namespace

TEST_CASE("a chunk that comes back otherwise than it was written is named by its bytes") {
  // 600,000 bytes from 1,000 on: chunks end at multiples of 262,144, so byte 500,000 lies in the chunk from 262,144 to 524,288.
  ChunkSums sums;
  auto bytes = bytes_of(600'000, 7);
  sums.wrote(Bytes(1'000), bytes);
  CHECK_FALSE(sums.find_changed(Bytes(1'000), bytes));
  bytes[500'000 - 1'000] ^= std::byte{4};
  const auto changed = sums.find_changed(Bytes(1'000), bytes);
  REQUIRE(changed);
  CHECK(changed->begin == Bytes(262'144));
  CHECK(changed->end == Bytes(524'288));
}

TEST_CASE("what was written last counts, parts of chunks and what was never written do not") {
  ChunkSums sums;
  sums.wrote(Bytes(0), bytes_of(4096, 1));
  sums.wrote(Bytes(4096), bytes_of(4096, 2));
  sums.wrote(Bytes(2048), bytes_of(4096, 3));  // half of each of the two before is gone, and their sums with it
  auto all = bytes_of(8192, 9);
  std::fill(all.begin() + 2048, all.begin() + 6144, std::byte{3});
  CHECK_FALSE(sums.find_changed(Bytes(0), all));
  all[2048] = std::byte{0};
  CHECK(sums.find_changed(Bytes(0), all)->begin == Bytes(2048));
  CHECK_FALSE(sums.find_changed(Bytes(0), std::span(all).first(4096)));  // a part of that chunk
  CHECK_FALSE(sums.find_changed(Bytes(100'000), bytes_of(10, 5)));
  sums.cut(Bytes(4096));
  CHECK_FALSE(sums.find_changed(Bytes(0), all));
}

TEST_CASE("of bytes that were written unseen nothing is known, of those beside them what was") {
  ChunkSums sums;
  sums.wrote(Bytes(0), bytes_of(4096, 1));
  sums.wrote(Bytes(4096), bytes_of(4096, 2));
  sums.wrote_unseen(Bytes(4096), Bytes(4096));
  CHECK_FALSE(sums.find_changed(Bytes(4096), bytes_of(4096, 3)));
  CHECK(sums.find_changed(Bytes(0), bytes_of(4096, 3)));
}

}  // namespace plimsoll
