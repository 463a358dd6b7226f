#include <catch2/catch.hpp>

#include <array>

#include "gui/timeline/paint_lane.h"

using namespace plimsoll::gui;

namespace {

constexpr Pixel kGround = 0xff000000u;
constexpr Pixel kRed = 0xffff0000u;
constexpr Pixel kBlue = 0xff0000ffu;

struct Painted {
  std::vector<Pixel> row;
  PaintedLane found;
};

/// Paints into `width` columns of one nanosecond each; label 0 is red, label 1 blue.
Painted paint(const EventLane& lane, double begin, double ns_per_pixel, std::size_t width) {
  const std::array<TimelineLabel, 2> labels{{{0, 0}, {1, 1}}};
  const std::array<Pixel, 2> colours{kRed, kBlue};
  Painted painted{.row = std::vector<Pixel>(width, 0x12345678u)};
  const TimeScale scale{begin, ns_per_pixel, 0, static_cast<double>(width)};
  painted.found = paint_lane(lane, {labels, colours, kGround}, scale, painted.row);
  return painted;
}

EventLane lane_of_two() {
  EventLane lane;
  lane.add({10, 40, 0, 0});
  lane.add({50, 52, 1, 0});
  lane.finish();
  return lane;
}

}  // namespace

TEST_CASE("a column has the colour of the event that covers it, and the ground where there is none") {
  const Painted painted = paint(lane_of_two(), 0, 1, 60);
  CHECK(painted.row[9] == kGround);
  CHECK(painted.row[10] == kRed);
  CHECK(painted.row[38] == kRed);
  CHECK(painted.row[39] == mix(kGround, kRed, 0.55));  // its last column shows where it ends
  CHECK(painted.row[40] == kGround);
  CHECK(painted.row[50] == kBlue);
  CHECK(painted.row[51] == kBlue);
  CHECK(painted.row[59] == kGround);
}

TEST_CASE("boxes wide enough for words and gaps between events are told") {
  const Painted painted = paint(lane_of_two(), 0, 1, 60);
  REQUIRE(painted.found.boxes.size() == 1);  // 30 columns of the first event; the second has two
  CHECK(painted.found.boxes[0].event == 0);
  CHECK(painted.found.boxes[0].left == 10);
  CHECK(painted.found.boxes[0].right == 40);
  REQUIRE(painted.found.gaps.size() == 1);  // not before the first event, nor after the last
  CHECK(painted.found.gaps[0].left == 40);
  CHECK(painted.found.gaps[0].right == 50);
}

TEST_CASE("a column over several events has the longest one's colour, the paler the less is busy") {
  // [0, 10) of a column of 10 ns holds red for 1 ns and blue for 4: half busy, blue at 0.4 + 0.6 · 0.5 = 0.7.
  EventLane lane;
  lane.add({1, 2, 0, 0});
  lane.add({4, 8, 1, 0});
  lane.finish();
  CHECK(paint(lane, 0, 10, 1).row[0] == mix(kGround, kBlue, 0.7));
}

TEST_CASE("what hangs over a column's edges does not count for it") {
  // The column [10, 20) holds 2 ns of an event that began at 0: 0.4 + 0.6 · 0.2 = 0.52.
  EventLane lane;
  lane.add({0, 12, 0, 0});
  lane.finish();
  CHECK(paint(lane, 10, 10, 1).row[0] == mix(kGround, kRed, 0.52));
}

TEST_CASE("no event is too short to be seen at any zoom") {
  EventLane lane;
  lane.add({500'000, 500'001, 1, 0});
  lane.finish();
  const Painted painted = paint(lane, 0, 1000, 1000);
  CHECK(painted.row[499] == kGround);
  CHECK(painted.row[500] != kGround);
  CHECK(painted.row[501] == kGround);
}

TEST_CASE("half of white over black is grey, all of it white") {
  CHECK(mix(0xff000000u, 0xffffffffu, 1) == 0xffffffffu);
  CHECK(mix(0xff000000u, 0xffffffffu, 0) == 0xff000000u);
  CHECK(mix(0xff000000u, 0xffffffffu, 0.5) == 0xff7f7f7fu);
}
