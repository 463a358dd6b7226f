#include "sim/planner/pack_arena.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <tuple>
#include <utility>

#include "sim/planner/known_packings.h"
#include "sim/planner/pack_within.h"
#include "sim/planner/ranked_lives.h"

using namespace plimsoll;

namespace {

constexpr Bytes kAligned{16};

/// Lives of up to 40 `stretch` within 240 `stretch`; every eighth lives up to four times as long.
std::vector<PackItem> random_items(std::uint32_t seed, std::size_t count, std::uint32_t stretch = 1) {
  std::mt19937 random(seed);
  std::vector<PackItem> items;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = static_cast<std::uint32_t>(random() % (200 * stretch));
    const auto longest = static_cast<std::uint32_t>(stretch > 1 && i % 8 == 0 ? 160 * stretch : 40 * stretch);
    items.push_back({{begin, begin + 1 + static_cast<std::uint32_t>(random() % longest)}, Bytes(static_cast<std::int64_t>(1 + random() % 5000))});
  }
  return items;
}

/// Best fit in the order of pack_arena's first try (size, then duration), with nothing but a list of all that is placed.
std::vector<Bytes> plainly_packed(const std::vector<PackItem>& items) {
  const auto key = [&](std::size_t i) { return std::pair(items[i].bytes.count, items[i].life.end - items[i].life.begin); };
  std::vector<std::size_t> order(items.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
  std::vector<Bytes> offsets(items.size());
  std::vector<std::size_t> placed;
  for (const std::size_t i : order) {
    std::vector<std::pair<std::int64_t, std::int64_t>> beside;
    for (const std::size_t other : placed) {
      if (items[other].life.overlaps(items[i].life)) beside.emplace_back(offsets[other].count, (offsets[other] + items[other].bytes).count);
    }
    std::stable_sort(beside.begin(), beside.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::int64_t floor = 0, best = -1, least = 0;
    for (const auto& [begin, end] : beside) {
      if (const std::int64_t gap = begin - floor; gap >= items[i].bytes.count && (best < 0 || gap < least)) best = floor, least = gap;
      floor = std::max(floor, align_up(Bytes(end), kAligned).count);
    }
    offsets[i] = Bytes(best < 0 ? floor : best);
    placed.push_back(i);
  }
  return offsets;
}

/// The same lives with that many other moments between any two.
std::vector<PackItem> drawn_out(std::vector<PackItem> items, std::uint32_t times) {
  for (PackItem& item : items) item.life = {item.life.begin * times, item.life.end * times};
  return items;
}

}  // namespace

TEST_CASE("counted in beginnings, lives overlap exactly when they do in instructions") {
  // [0,2) and [1,9) begin before 5, [5,6) and [5,9) at it: three beginnings, and what ends at 9 ends behind all of them.
  const std::vector<PackItem> few{{{0, 2}, Bytes(1)}, {{1, 9}, Bytes(1)}, {{5, 6}, Bytes(1)}, {{5, 9}, Bytes(1)}};
  const std::vector<Lifespan> counted = ranked_lives(few);
  CHECK((counted[0].begin == 0 && counted[0].end == 2));
  CHECK((counted[1].begin == 1 && counted[1].end == 3));
  CHECK((counted[2].begin == 2 && counted[2].end == 3));
  for (const std::uint32_t stretch : {1u, 40u, 5000u}) {
    const auto items = random_items(stretch, 90, stretch);
    const auto lives = ranked_lives(items);
    for (std::size_t i = 0; i < items.size(); ++i) {
      CHECK(lives[i].begin < items.size());
      for (std::size_t j = 0; j < items.size(); ++j) CHECK(lives[i].overlaps(lives[j]) == items[i].life.overlaps(items[j].life));
    }
  }
}

TEST_CASE("windows and counted lives in short numbers place every buffer where a plain best fit places it") {
  for (const auto& [seed, count, stretch] : {std::tuple(1u, 60u, 1u), {2u, 700u, 3u}, {3u, 3000u, 900u}, {4u, 6000u, 40u}}) {
    const auto items = random_items(seed, count, stretch);
    const auto offsets = plainly_packed(items);
    const Bytes any(std::int64_t{1} << 60);  // the first order is enough
    CHECK(pack_arena(items, kAligned, any).offsets == offsets);
  }
}

TEST_CASE("what lives together alike comes to the same addresses whether they are known or not, other moments between or none") {
  KnownPackings known;
  for (int again = 0; again < 2; ++again) {
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
      for (const std::uint32_t times : {1u, 2u, 7u}) {
        const auto items = drawn_out(random_items(seed, 150), times);
        const Packing alone = pack_arena(items, kAligned), shared = pack_arena(items, kAligned, Bytes(0), &known);
        CHECK(alone.height == shared.height);
        CHECK(alone.offsets == shared.offsets);
      }
    }
  }
  const auto items = random_items(3, 150);
  CHECK(pack_arena(items, Bytes(64), Bytes(0), &known).offsets == pack_arena(items, Bytes(64)).offsets);  // not those at 16
}

TEST_CASE("buffers that never live together share the same bytes") {
  const std::vector<PackItem> items{{{0, 2}, Bytes(64)}, {{2, 4}, Bytes(64)}, {{4, 6}, Bytes(64)}};
  CHECK(pack_arena(items, kAligned).height == Bytes(64));
}

TEST_CASE("pack_arena reaches the bound where a stack order exists") {
  // lives: a [0,6) 32, b [1,5) 32, c [2,4) 32: all three live at 2, so the bound and the height are 96.
  const std::vector<PackItem> items{{{0, 6}, Bytes(32)}, {{1, 5}, Bytes(32)}, {{2, 4}, Bytes(32)}};
  CHECK(load_bound(items, kAligned) == Bytes(96));
  CHECK(pack_arena(items, kAligned).height == Bytes(96));
}

TEST_CASE("load_bound leaves out the rounding of the topmost buffer only") {
  // 10 and 20 bytes at alignment 16 round to 16 and 32; one of them lies on top and needs no rounding: at least
  // 16 + 32 - 12 = 36 (20 on top would end at 16 + 20 = 36).
  const std::vector<PackItem> items{{{0, 1}, Bytes(10)}, {{0, 1}, Bytes(20)}};
  CHECK(load_bound(items, kAligned) == Bytes(36));
  CHECK(pack_arena(items, kAligned).height >= Bytes(36));
}

TEST_CASE("pack_arena never overlaps buffers that live together, never goes below the bound, and stays near it") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const auto items = random_items(seed, 20 + 10 * seed);
    const Packing packing = pack_arena(items, kAligned);
    const auto valid = verify_packing(items, packing, kAligned);
    INFO((valid ? std::string() : valid.error().text()));
    CHECK(valid);
    CHECK(packing.height >= load_bound(items, kAligned));
    CHECK(static_cast<double>(packing.height.count) <= 1.5 * static_cast<double>(load_bound(items, kAligned).count));
  }
}

TEST_CASE("pack_arena never overlaps buffers of a step of many thousand instructions") {
  for (const std::uint32_t stretch : {20u, 100u}) {  // lives end before 7 200 and 36 000
    const auto items = random_items(stretch, 1500, stretch);
    const Packing packing = pack_arena(items, kAligned);
    CHECK(verify_packing(items, packing, kAligned));
    CHECK(static_cast<double>(packing.height.count) <= 1.5 * static_cast<double>(load_bound(items, kAligned).count));
  }
}

TEST_CASE("where any height up to one is enough, pack_arena ends no higher, and without a collision, if it can without that") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const std::vector<PackItem> items = random_items(seed, 120);
    const Bytes lowest = pack_arena(items, kAligned).height;
    for (const std::int64_t more : {0, 500, 5000, 50'000}) {
      const Packing packing = pack_arena(items, kAligned, lowest + Bytes(more));
      CHECK(verify_packing(items, packing, kAligned));
      CHECK(packing.height <= lowest + Bytes(more));
    }
    CHECK(pack_arena(items, kAligned, lowest - Bytes(1)).height == lowest);
  }
}

TEST_CASE("verify_packing finds an overlap, a misaligned offset and a wrong height") {
  const std::vector<PackItem> items{{{0, 4}, Bytes(32)}, {{2, 6}, Bytes(32)}};
  CHECK(verify_packing(items, {{Bytes(0), Bytes(32)}, Bytes(64)}, kAligned));
  CHECK_FALSE(verify_packing(items, {{Bytes(0), Bytes(16)}, Bytes(48)}, kAligned));
  CHECK_FALSE(verify_packing(items, {{Bytes(0), Bytes(40)}, Bytes(72)}, kAligned));
  CHECK_FALSE(verify_packing(items, {{Bytes(0), Bytes(32)}, Bytes(63)}, kAligned));
}

TEST_CASE("pack_arena gives the same offsets every time") {
  const auto items = random_items(7, 200);
  CHECK(pack_arena(items, kAligned).offsets == pack_arena(items, kAligned).offsets);
}

TEST_CASE("the load bound of lives that lie far apart is that of the same lives close together") {
  // 10 bytes in [0, 2), 20 in [1, 3), 5 in [2, 4): at moment 1 there are 10 + 20, at moment 2 there are 20 + 5.
  const std::vector<PackItem> close{{{0, 2}, Bytes(10)}, {{1, 3}, Bytes(20)}, {{2, 4}, Bytes(5)}};
  CHECK(load_bound(close, Bytes(1)) == Bytes(30));
  std::vector<PackItem> far = close;
  for (PackItem& item : far) item.life = {item.life.begin * 1'000'000, item.life.end * 1'000'000};
  CHECK(load_bound(far, Bytes(1)) == Bytes(30));
}

TEST_CASE("pack_within finds packings as low as the load where the greedy orders end above it, and none that collide") {
  std::mt19937 random(3);
  int lower = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<PackItem> items;
    for (int i = 0; i < 14; ++i) {
      const auto begin = static_cast<std::uint32_t>(random() % 12);
      const auto end = begin + 1 + static_cast<std::uint32_t>(random() % 6);
      items.push_back({{begin, end}, Bytes(64 * static_cast<std::int64_t>(1 + random() % 8))});
    }
    const Bytes load = load_bound(items, Bytes(64));
    const Bytes greedy = pack_arena(items, Bytes(64)).height;
    const auto tight = pack_within(items, Bytes(64), load);
    CHECK_FALSE(pack_within(items, Bytes(64), load - Bytes(64)));
    if (!tight) continue;
    CHECK(tight->height <= load);
    CHECK(verify_packing(items, *tight, Bytes(64)));
    if (greedy > load) ++lower;
  }
  CHECK(lower > 0);
}

TEST_CASE("four buffers fit by exact packing alone: a greedy order ends at seven alignments, the load is five") {
  // A 2 high in [0, 4), B 3 in [1, 2), C 2 in [2, 5), D 3 in [4, 5). At moment 1 there are A and B, 2 + 3; at 4 C and D, 2 + 3.
  // By size (B, D, A, C): B and D at 0, A on B at 3, C on A at 5, which makes 7. By area, duration or begin (A first): A at 0, C
  // on A at 2, and D finds 2 free below C, so that it lies at 4 and reaches 7. Five is reached by A and D at 0, B at 2, C at 3.
  const Bytes one(256);
  const std::vector<PackItem> items{{{0, 4}, 2 * one}, {{1, 2}, 3 * one}, {{2, 5}, 2 * one}, {{4, 5}, 3 * one}};
  CHECK(load_bound(items, one) == 5 * one);
  CHECK(pack_arena(items, one).height == 7 * one);
  const auto tight = pack_within(items, one, 5 * one);
  REQUIRE(tight);
  CHECK(tight->height == 5 * one);
  CHECK(verify_packing(items, *tight, one));
  CHECK_FALSE(pack_within(items, one, 5 * one - Bytes(1)));
}
