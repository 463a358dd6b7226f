#include <catch2/catch.hpp>

#include "gui/timeline/time_scale.h"
#include "gui/timeline/time_ticks.h"

using namespace plimsoll::gui;

TEST_CASE("a pixel and its time are each other's") {
  // 1000 ns in 500 pixels from x = 100: 2 ns a pixel. x = 350 is 250 pixels in: 500 ns.
  const TimeScale scale = fitted({0, 1000}, 100, 500);
  CHECK(scale.ns_per_pixel == 2);
  CHECK(scale.time_at(350) == 500);
  CHECK(scale.x_of(500) == 350);
  CHECK(scale.end() == 1000);
}

TEST_CASE("zooming keeps the time under the pointer where it is") {
  const TimeScale scale = fitted({0, 1000}, 100, 500);
  const TimeScale closer = zoomed(scale, 0.5, 350);
  // 1 ns a pixel; 250 pixels left of the pointer's 500 ns: begins at 250.
  CHECK(closer.ns_per_pixel == 1);
  CHECK(closer.begin == 250);
  CHECK(closer.time_at(350) == 500);
}

TEST_CASE("panning by the width shows the next stretch") {
  const TimeScale scale = zoomed(fitted({0, 1000}, 0, 500), 0.5, 0);
  // Shows [0, 500); 500 pixels further: [500, 1000).
  CHECK(panned(scale, 500).begin == 500);
}

TEST_CASE("a view is held within its bounds, and shows no more than there is") {
  const TimeBounds bounds{0, 1000};
  const TimeScale scale = fitted(bounds, 0, 500);
  CHECK(held_within(zoomed(scale, 4, 250), bounds) == scale);
  TimeScale late = zoomed(scale, 0.5, 0);
  late.begin = 900;  // would show [900, 1400): held at [500, 1000)
  CHECK(held_within(late, bounds).begin == 500);
  late.begin = -50;
  CHECK(held_within(late, bounds).begin == 0);
}

TEST_CASE("a stretch is centred and takes its share of the width") {
  // [400, 600) at half of 500 pixels: 400 ns in all, from 300.
  const TimeScale scale = around(fitted({0, 1000}, 0, 500), 400, 600, 0.5);
  CHECK(scale.ns_per_pixel == Approx(0.8));
  CHECK(scale.begin == Approx(300));
}

TEST_CASE("ticks stand at 1, 2 or 5 times a power of ten, no closer than asked") {
  // 2 ns a pixel and 96 pixels: 192 ns at least, so 200; 1 ns: 96, so 100; 3 ns: 288, so 500.
  TimeScale scale = fitted({0, 1000}, 0, 500);
  CHECK(tick_distance(scale, 96) == 200);
  scale.ns_per_pixel = 1;
  CHECK(tick_distance(scale, 96) == 100);
  scale.ns_per_pixel = 3;
  CHECK(tick_distance(scale, 96) == 500);
  // 6 ns a pixel: 576, so 1000.
  scale.ns_per_pixel = 6;
  CHECK(tick_distance(scale, 96) == 1000);
}

TEST_CASE("ticks are the multiples that are seen") {
  TimeScale scale = fitted({150, 650}, 0, 500);
  CHECK(tick_times(scale, 200) == std::vector<double>{200, 400, 600});
}

TEST_CASE("a tick says its time in the unit of the distance") {
  CHECK(tick_text(1.205e9, 5e6) == "1,205 ms");
  CHECK(tick_text(2e9, 1e9) == "2 s");
  CHECK(tick_text(40, 20) == "40 ns");
  CHECK(tick_text(-1'500'000, 500'000) == "-1,500 µs");
}
