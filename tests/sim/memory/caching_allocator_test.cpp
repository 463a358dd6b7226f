#include <catch2/catch.hpp>

#include <cstdint>
#include <random>
#include <vector>

#include "sim/memory/caching_allocator.h"

namespace plimsoll {
namespace {

constexpr Bytes mib(std::int64_t count) { return count * kMiB; }

}  // namespace

TEST_CASE("Requests are rounded to 512 bytes and come from segments of their class") {
  CachingAllocator allocator;
  const auto small = allocator.allocate(Bytes(1));
  REQUIRE(small);
  CHECK(allocator.block_size(*small) == Bytes(512));
  CHECK(allocator.reserved() == mib(2));
  const auto middle = allocator.allocate(mib(1) + Bytes(1));  // 1 MiB + 512
  CHECK(allocator.block_size(*middle) == mib(1) + Bytes(512));
  CHECK(allocator.reserved() == mib(2 + 20));
  allocator.allocate(mib(11) - Bytes(100));  // its own segment, in steps of 2 MiB: 12 MiB, but the 20 MiB one has 19 - free
  CHECK(allocator.reserved() == mib(2 + 20));
  allocator.allocate(mib(11));
  CHECK(allocator.reserved() == mib(2 + 20 + 12));
}

TEST_CASE("A large block whose rest is at most 1 MiB is given whole") {
  CachingAllocator allocator;
  const auto first = allocator.allocate(mib(12));
  allocator.free(*first);
  const auto whole = allocator.allocate(mib(11));  // rest 1 MiB: not split
  CHECK(allocator.block_size(*whole) == mib(12));
  allocator.free(*whole);
  const auto cut = allocator.allocate(mib(11) - Bytes(512));  // rest 1 MiB + 512: split
  CHECK(allocator.block_size(*cut) == mib(11) - Bytes(512));
  CHECK(allocator.reserved() == mib(12));
}

TEST_CASE("Freed neighbours join, and the best fit is taken") {
  CachingAllocator allocator;
  const auto a = allocator.allocate(mib(4));
  const auto b = allocator.allocate(mib(4));
  const auto c = allocator.allocate(mib(4));
  allocator.free(*a);
  allocator.free(*b);
  const auto both = allocator.allocate(mib(7));  // a and b together hold 8 of the 20 MiB, the tail 8 as well: the lower one
  CHECK(allocator.address(*both) == Bytes(0));
  CHECK(allocator.reserved() == mib(20));
  allocator.free(*both);
  allocator.free(*c);
  allocator.empty_cache();
  CHECK(allocator.reserved() == Bytes(0));
}

TEST_CASE("Streams do not share blocks") {
  CachingAllocator allocator;
  allocator.free(*allocator.allocate(mib(30), 0));
  allocator.allocate(mib(30), 1);
  CHECK(allocator.reserved() == mib(60));
}

TEST_CASE("Caches are given back before memory is said to have run out") {
  CachingAllocator allocator({.limit = mib(64)});
  allocator.free(*allocator.allocate(mib(40)));
  CHECK(allocator.allocate(mib(60)));  // 40 cached + 60 > 64, but the 40 are free
  CHECK(allocator.reserved() == mib(60));
  CHECK_FALSE(allocator.allocate(mib(10)));
  CHECK(allocator.allocated() == mib(60));
}

TEST_CASE("Expandable segments grow by pages and keep no holes of other classes") {
  CachingAllocator allocator({.expandable_segments = true});
  const auto a = allocator.allocate(mib(30));  // two pages of 20 MiB
  CHECK(allocator.reserved() == mib(40));
  allocator.allocate(mib(15));  // 10 are there, one page more
  CHECK(allocator.reserved() == mib(60));
  allocator.free(*a);
  CHECK(allocator.allocated() == mib(15));
}

TEST_CASE("Live blocks never overlap, whatever is asked for and freed") {
  std::mt19937 random(7);
  for (const bool expandable : {false, true}) {
    CachingAllocator allocator({.limit = mib(512), .expandable_segments = expandable});
    std::vector<CachingAllocator::BlockId> live;
    Bytes sum;
    for (int step = 0; step < 4000; ++step) {
      if (live.empty() || random() % 5 < 3) {
        const auto id = allocator.allocate(Bytes(1 + random() % (random() % 3 == 0 ? 40'000'000 : 500'000)), random() % 2);
        if (!id) continue;
        for (const auto other : live) {
          const bool apart = allocator.address(*id) >= allocator.address(other) + allocator.block_size(other) ||
                             allocator.address(other) >= allocator.address(*id) + allocator.block_size(*id);
          REQUIRE(apart);
        }
        live.push_back(*id);
        sum += allocator.block_size(*id);
      } else {
        const std::size_t which = random() % live.size();
        sum -= allocator.block_size(live[which]);
        allocator.free(live[which]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
      }
      REQUIRE(allocator.allocated() == sum);
      REQUIRE(allocator.reserved() >= sum);
      REQUIRE(allocator.reserved() <= mib(512));
    }
  }
}

TEST_CASE("What is met within a limit goes alike with it and with more, and the least refused says how far a limit goes alike") {
  std::mt19937 random(11);
  for (const bool expandable : {false, true}) {
    CachingAllocator allocator({.limit = mib(400), .expandable_segments = expandable});
    std::vector<CachingAllocator::BlockId> live;
    for (int step = 0; step < 3000; ++step) {
      if (live.empty() || random() % 5 < 3) {
        const Bytes size(1 + random() % (random() % 3 == 0 ? 40'000'000 : 500'000));
        const Bytes within = mib(300);
        const bool met = allocator.is_met_within(within, size);
        CachingAllocator tighter = allocator;
        tighter.set_limit(std::max(within, allocator.reserved()));
        const auto id = allocator.allocate(size);
        if (met) {
          REQUIRE(id);
          REQUIRE(tighter.allocate(size) == id);
          REQUIRE(tighter.reserved() == allocator.reserved());
        }
        if (id) live.push_back(*id);
      } else {
        const std::size_t which = random() % live.size();
        allocator.free(live[which]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
    REQUIRE(allocator.least_refused());
    CHECK(*allocator.least_refused() > mib(400));
  }
}

}  // namespace plimsoll
