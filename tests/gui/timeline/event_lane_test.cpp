#include <catch2/catch.hpp>

#include <random>

#include "gui/timeline/event_lane.h"

using namespace plimsoll::gui;

namespace {

/// Events [10 i, 10 i + length(i)).
template <typename Length>
EventLane even_lane(std::size_t events, const Length& length) {
  EventLane lane;
  for (std::size_t i = 0; i < events; ++i) {
    const auto start = static_cast<std::int64_t>(10 * i);
    lane.add({start, start + length(i), static_cast<std::uint32_t>(i), 0});
  }
  lane.finish();
  return lane;
}

LaneBucket summed(const EventLane& lane, std::size_t first, std::size_t last) {
  LaneBucket held;
  for (std::size_t i = first; i < last; ++i) {
    held.busy += lane.duration(i);
    if (held.longest == LaneBucket::kNone || lane.duration(i) > lane.duration(held.longest))
      held.longest = static_cast<std::uint32_t>(i);
  }
  return held;
}

}  // namespace

TEST_CASE("a bucket holds the sum and the longest of its events, the first of equal ones") {
  // Lengths 3, 7, 7, 2: events 0 to 3 sum to 19, longest is event 1.
  const std::vector<std::int64_t> lengths{3, 7, 7, 2};
  const EventLane lane = even_lane(4, [&](std::size_t i) { return lengths[i]; });
  const LaneBucket all = lane.bucket(0, 4);
  CHECK(all.busy == 19);
  CHECK(all.longest == 1);
  CHECK(lane.bucket(2, 2).longest == LaneBucket::kNone);
}

TEST_CASE("the forest says of any stretch what adding up says") {
  std::mt19937 random(11);
  const EventLane lane = even_lane(5000, [&](std::size_t) { return static_cast<std::int64_t>(random() % 10); });
  for (int round = 0; round < 400; ++round) {
    const std::size_t first = random() % 5001;
    const std::size_t last = first + random() % (5001 - first);
    const LaneBucket known = summed(lane, first, last);
    const LaneBucket found = lane.bucket(first, last);
    INFO(first << " to " << last);
    CHECK(found.busy == known.busy);
    CHECK(found.longest == known.longest);
  }
}

TEST_CASE("events are found by time, from any place before them") {
  // Events [0, 4), [10, 14), … : what ends after 14 is event 2, what starts from 10 on is event 1.
  const EventLane lane = even_lane(1000, [](std::size_t) { return 4; });
  CHECK(lane.first_ending_after(13.5) == 1);
  CHECK(lane.first_ending_after(14) == 2);
  CHECK(lane.first_starting_from(10) == 1);
  CHECK(lane.first_starting_from(10.5) == 2);
  CHECK(lane.first_starting_from(9'000, 17) == 900);
  CHECK(lane.first_ending_after(1e9, 3) == 1000);
}

TEST_CASE("an event takes no more than 32 bytes with all that stands over it") {
  EventLane lane;
  lane.reserve(1'000'000);
  for (std::int64_t i = 0; i < 1'000'000; ++i) lane.add({10 * i, 10 * i + 9, 0, 0});
  lane.finish();
  CHECK(static_cast<double>(lane.bytes()) / 1e6 <= 32);
}
