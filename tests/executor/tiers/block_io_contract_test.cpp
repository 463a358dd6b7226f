// What every way to move bytes promises, with and without the page cache.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "executor/tiers/block_io.h"
#include "tests/executor/tiers/page_memory.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

constexpr Bytes kFile = 8 * kMiB;
constexpr IoDepth kShallow{.chunk = 64 * kKiB, .chunks = 4};

/// A file, and one way to move its bytes to and from `memory`.
struct Opened {
  Opened(IoWay way, bool direct, const PageMemory& memory) : file(folder.path(), kFile, direct) {
    const std::span<std::byte> all = memory.all();
    opened = open_block_io(file, {&all, 1}, way, kShallow);
  }
  TemporaryFolder folder;
  DriveFile file;
  OpenedIo opened;

  [[nodiscard]] BlockIo& io() const { return *opened.io; }
};

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// Runs `law` for every way, direct and buffered. A way that this kernel refuses falls back, and the law holds anyway.
template <typename Law>
void for_every_way(const Law& law) {
  for (const IoWay way : {IoWay::kBest, IoWay::kRegisteredRing, IoWay::kRing, IoWay::kThreads}) {
    for (const bool direct : {true, false}) law(way, direct);
  }
}

}  // namespace

TEST_CASE("what was written is read back, wherever it lies and however it is cut") {
  for_every_way([](IoWay way, bool direct) {
    const PageMemory out(kFile);
    const PageMemory in(kFile);
    const Opened file(way, direct, out);
    INFO(file.io().name() << ", direct " << file.file.direct());
    out.fill(7);
    file.io().write(Bytes(0), out.all());
    file.io().read(Bytes(0), in.all());
    CHECK(equal(in.all(), out.all()));
    // one block; a part of a chunk; a chunk and a block; several chunks
    for (const Bytes bytes : {4 * kKiB, 60 * kKiB, 68 * kKiB, 1020 * kKiB}) {
      const Bytes offset = 12 * kKiB;
      out.fill(static_cast<std::uint64_t>(bytes.count));
      file.io().write(offset, out.part(offset, bytes));
      file.io().read(offset, in.part(8 * kKiB, bytes));
      CHECK(equal(in.part(8 * kKiB, bytes), out.part(offset, bytes)));
    }
  });
}

TEST_CASE("who asked for a transfer is shown all its bytes, once, as they come") {
  for_every_way([](IoWay way, bool direct) {
    const PageMemory memory(kFile);
    const Opened file(way, direct, memory);
    const Bytes offset = 12 * kKiB, bytes = 1020 * kKiB;
    memory.fill(5);
    const PageMemory seen(kFile);
    std::int64_t shown = 0, parts = 0;
    const LookAtBytes look = [&](Bytes at, std::span<const std::byte> part) {
      std::copy(part.begin(), part.end(), seen.part(at, Bytes(static_cast<std::int64_t>(part.size()))).begin());
      shown += static_cast<std::int64_t>(part.size());
      ++parts;
    };
    file.io().write(offset, memory.part(offset, bytes), look);
    CHECK(parts == 1);
    CHECK(equal(seen.part(offset, bytes), memory.part(offset, bytes)));
    shown = parts = 0;
    seen.fill(6);
    file.io().read(offset, memory.part(kMiB, bytes), look);
    INFO(file.io().name() << ", direct " << file.file.direct());
    CHECK(shown == bytes.count);
    CHECK(parts == 17);  // 12 to 64 KiB, fifteen of 64, 1024 to 1032
    CHECK(equal(seen.part(offset, bytes), memory.part(kMiB, bytes)));
  });
}

TEST_CASE("what was never written reads as zeros, and moving nothing is nothing") {
  for_every_way([](IoWay way, bool direct) {
    const PageMemory memory(kMiB);
    const Opened file(way, direct, memory);
    memory.fill(1);
    file.io().read(3 * kMiB, memory.all());
    CHECK(std::all_of(memory.all().begin(), memory.all().end(), [](std::byte b) { return b == std::byte{0}; }));
    file.io().read(Bytes(0), {});
    file.io().write(Bytes(0), {});
  });
}

TEST_CASE("memory that was not registered is moved too") {
  const PageMemory registered(kMiB);
  const PageMemory other(kMiB);
  const PageMemory back(kMiB);
  const Opened file(IoWay::kRegisteredRing, true, registered);
  other.fill(3);
  file.io().write(kMiB, other.all());
  file.io().read(kMiB, back.all());
  CHECK(equal(back.all(), other.all()));
}

TEST_CASE("eight callers at once each find their own bytes") {
  for_every_way([](IoWay way, bool direct) {
    const PageMemory memory(kFile);
    const Opened file(way, direct, memory);
    std::vector<char> right(8, 0);
    {
      std::vector<std::jthread> callers;
      for (std::size_t caller = 0; caller < right.size(); ++caller) {
        callers.emplace_back([&, caller] {
          const Bytes mine(static_cast<std::int64_t>(caller) * kMiB.count);
          const PageMemory expected(kMiB);
          const auto own = memory.part(mine, kMiB);
          bool good = true;
          for (std::uint64_t round = 0; round < 5; ++round) {
            expected.fill(100 * caller + round);
            std::copy(expected.all().begin(), expected.all().end(), own.begin());
            file.io().write(mine, own);
            std::fill(own.begin(), own.end(), std::byte{0});
            file.io().read(mine, own);
            good = good && equal(own, expected.all());
          }
          right[caller] = good ? 1 : 0;
        });
      }
    }
    INFO(file.io().name());
    CHECK(std::count(right.begin(), right.end(), 1) == 8);
  });
}

TEST_CASE("a file that ends too early fails the read in words, and the way goes on working") {
  for_every_way([](IoWay way, bool direct) {
    const PageMemory memory(2 * kMiB);
    const Opened file(way, direct, memory);
    INFO(file.io().name());
    REQUIRE(::ftruncate(file.file.descriptor(), (kMiB + 8 * kKiB).count) == 0);
    CHECK_THROWS_WITH(file.io().read(Bytes(0), memory.all()), Catch::Contains("the file ends there"));
    CHECK_THROWS_AS(file.io().read(4 * kMiB, memory.all()), EnvironmentError);
    CHECK_NOTHROW(file.io().read(Bytes(0), memory.part(Bytes(0), kMiB)));
  });
}

TEST_CASE("an operation that the kernel refuses fails the transfer with its reason") {
  for_every_way([](IoWay way, bool) {
    const PageMemory memory(kMiB);
    const Opened file(way, true, memory);
    if (!file.file.direct()) return;  // nothing is refused for its alignment then
    INFO(file.io().name());
    CHECK_THROWS_WITH(file.io().write(Bytes(100), memory.all()), Catch::Contains("Invalid argument"));
  });
}

TEST_CASE("each way says what it is, and a worse one why") {
  const PageMemory memory(kMiB);
  const Opened threads(IoWay::kThreads, true, memory);
  CHECK(threads.io().name() == "pread and pwrite on 4 threads");
  CHECK(threads.opened.reason.empty());
  const Opened best(IoWay::kBest, true, memory);
  const bool is_best = best.io().name() == "io_uring with registered buffers";
  CHECK(is_best == best.opened.reason.empty());
}

}  // namespace plimsoll
