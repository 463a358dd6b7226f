#include "executor/tiers/chunk_queue.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <vector>

#include "core/base/error.h"

namespace plimsoll {
namespace {

Transfer reading(std::int64_t offset, std::int64_t bytes) {
  Transfer transfer;
  transfer.offset = offset;
  transfer.bytes = bytes;
  return transfer;
}

}  // namespace

TEST_CASE("two transfers' chunks take turns, and the last chunk is what is left") {
  // 10 bytes in chunks of 4 are 4, 4, 2.
  ChunkQueue queue(Bytes(4), Bytes(1));
  Transfer a = reading(0, 10);
  Transfer b = reading(100, 10);
  queue.add(a);
  queue.add(b);
  using Order = std::vector<std::pair<std::int64_t, std::int64_t>>;
  Order order;
  while (const auto chunk = queue.take()) {
    order.emplace_back(chunk->offset, chunk->bytes);
    queue.end(*chunk, chunk->bytes);
  }
  CHECK(order == Order{{0, 4}, {100, 4}, {4, 4}, {104, 4}, {8, 2}, {108, 2}});
  queue.wait(a);
  queue.wait(b);
}

TEST_CASE("what a short operation left is handed out again, from a whole block on") {
  // Of 16 asked 7 moved; blocks of 4 make 4 of them count, so bytes 4 to 16 are asked again.
  ChunkQueue queue(Bytes(16), Bytes(4));
  Transfer transfer = reading(0, 16);
  queue.add(transfer);
  queue.end(*queue.take(), 7);
  const auto rest = queue.take();
  REQUIRE(rest);
  CHECK(rest->offset == 4);
  CHECK(rest->bytes == 12);
  queue.end(*rest, 12);
  queue.wait(transfer);
}

TEST_CASE("chunks end at multiples of their size in the file, and a reader is shown each once, whole, also after a short operation") {
  // 10 bytes from 3 on in chunks of 4: 3, 4 to 7, 8 to 11, 12. The second moves 2 bytes, then 2.
  std::byte bytes[10] = {};
  for (std::size_t i = 0; i < 10; ++i) bytes[i] = static_cast<std::byte>(3 + i);
  ChunkQueue queue(Bytes(4), Bytes(1));
  Transfer transfer = reading(Bytes(3), bytes, true);
  queue.add(transfer);
  std::vector<Chunk> chunks;
  while (const auto chunk = queue.take()) chunks.push_back(*chunk);
  REQUIRE(chunks.size() == 4);
  queue.end(chunks[2], 4);
  queue.end(chunks[1], 2);
  queue.end(*queue.take(), 2);
  queue.end(chunks[0], 1);
  queue.end(chunks[3], 1);
  std::vector<std::pair<std::int64_t, std::size_t>> seen;
  queue.wait(transfer, [&](Bytes offset, std::span<const std::byte> part) {
    seen.emplace_back(offset.count, part.size());
    CHECK(part.front() == static_cast<std::byte>(offset.count));
  });
  CHECK(seen == std::vector<std::pair<std::int64_t, std::size_t>>{{8, 4}, {4, 4}, {3, 1}, {12, 1}});
}

TEST_CASE("a failure keeps what was not handed out from being asked, and waits for what was") {
  ChunkQueue queue(Bytes(4), Bytes(1));
  Transfer transfer = reading(0, 20);
  queue.add(transfer);
  const auto first = queue.take();
  const auto second = queue.take();
  queue.end(*first, -ENOSPC);
  CHECK_FALSE(queue.take());
  CHECK(transfer.under_way == 1);
  queue.end(*second, -EIO);
  CHECK_THROWS_WITH(queue.wait(transfer), Catch::Contains("No space left on device"));  // the first failure is told
}

}  // namespace plimsoll
