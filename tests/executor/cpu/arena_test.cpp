#include "executor/cpu/arena.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <limits>
#include <vector>

#include "core/base/error.h"

namespace plimsoll {

TEST_CASE("a fresh arena holds zeros and starts at a page") {
  const HostArena arena(Bytes(10000));
  CHECK(reinterpret_cast<std::uintptr_t>(arena.data()) % 4096 == 0);
  for (std::int64_t i = 0; i < 10000; ++i) REQUIRE(arena.data()[i] == std::byte{0});
}

TEST_CASE("an arena that changes its length keeps what both lengths hold, and what is new is zeros") {
  HostArena arena(Bytes(10001));
  for (int i = 0; i < 10001; ++i) arena.data()[i] = static_cast<std::byte>(i % 251);
  for (const std::int64_t size : {64 * kMiB.count, std::int64_t{5000}, std::int64_t{9000}}) {
    arena.resize(Bytes(size));
    CHECK(arena.size() == Bytes(size));
    for (int i = 0; i < 5000; ++i) REQUIRE(arena.data()[i] == static_cast<std::byte>(i % 251));
  }
  for (int i = 5000; i < 9000; ++i) REQUIRE(arena.data()[i] == std::byte{0});
  arena.resize(Bytes(0));
  arena.resize(Bytes(100));
  for (int i = 0; i < 100; ++i) REQUIRE(arena.data()[i] == std::byte{0});
}

TEST_CASE("a canary that leaves out ranges changes no byte of them") {
  HostArena arena(Bytes(4096));
  for (int i = 0; i < 4096; ++i) arena.data()[i] = std::byte{1};
  const ByteRange kept[] = {{Bytes(0), Bytes(13)}, {Bytes(5), Bytes(21)}, {Bytes(100), Bytes(104)}, {Bytes(4095), Bytes(4096)}};
  arena.fill_canary_outside(kept);
  CHECK_FALSE(arena.first_touched_outside(kept));
  for (const auto& [begin, end] : kept) {
    for (std::int64_t i = begin.count; i < end.count; ++i) CHECK(arena.data()[i] == std::byte{1});
  }
}

TEST_CASE("touched is one past the highest byte that lost its canary, to the byte") {
  for (const std::int64_t size : {1, 7, 8, 9, 4096, 10001}) {
    HostArena arena{Bytes(size)};
    arena.fill_canary();
    CHECK(arena.touched() == Bytes(0));
    for (const std::int64_t at : {std::int64_t{0}, size / 2, size - 1}) {
      arena.data()[at] = std::byte{0};
      CHECK(arena.touched() == Bytes(at + 1));
    }
  }
}

TEST_CASE("a canary that is read as a number is not one") {
  HostArena arena(Bytes(64));
  arena.fill_canary();
  for (int i = 0; i < 16; ++i) {
    float value = 0;
    std::memcpy(&value, arena.data() + 4 * i, 4);
    CHECK(value != value);
  }
  for (int i = 0; i < 8; ++i) {
    double value = 0;
    std::memcpy(&value, arena.data() + 8 * i, 8);
    CHECK(value != value);
  }
}

TEST_CASE("the first touched byte outside the allowed ranges is found, and none when there is none") {
  HostArena arena(Bytes(1000));
  arena.fill_canary();
  const std::vector<ByteRange> allowed{{Bytes(0), Bytes(100)}, {Bytes(50), Bytes(300)}, {Bytes(512), Bytes(700)}};
  for (const std::int64_t at : {0, 299, 512, 699}) arena.data()[at] = std::byte{1};
  CHECK_FALSE(arena.first_touched_outside(allowed));
  arena.data()[999] = std::byte{1};
  CHECK(arena.first_touched_outside(allowed) == Bytes(999));
  arena.data()[300] = std::byte{1};
  CHECK(arena.first_touched_outside(allowed) == Bytes(300));
}

TEST_CASE("an arena beyond the address space is refused with its size") {
  try {
    const HostArena arena(Bytes(std::numeric_limits<std::int64_t>::max()));
    FAIL("reserved");
  } catch (const EnvironmentError& error) {
    CHECK(error.error().kind == ErrorKind::kEnvironment);
    CHECK_THAT(error.what(), Catch::Contains("9223372036854775807 bytes"));
  }
}

}  // namespace plimsoll
