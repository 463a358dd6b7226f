#include <catch2/catch.hpp>

#include "gui/explore/choices.h"
#include "gui/explore/load_line_layout.h"
#include "gui/explore/scatter_layout.h"
#include "gui/run/line_chart.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

SpaceAnswer space(std::int64_t capacity, std::int64_t usable, std::int64_t peak) {
  SpaceAnswer answer{.space = "gpu0", .capacity = Bytes(capacity), .usable = Bytes(usable), .peak = Bytes(peak)};
  answer.by_category.parameters = Bytes(peak / 2);
  answer.by_category.activations = Bytes(peak / 4);
  return answer;
}

}  // namespace

TEST_CASE("a load line's segments fill the bar from the left up to the peak, and the mark stands where usable memory ends") {
  // 200 pixels for 100 bytes: 2 pixels a byte. Parameters 40, activations 20, gaps 80 − 60 = 20 bytes; usable 90.
  const LoadLineLayout layout = lay_out_load_line(space(100, 90, 80), QRectF(10, 0, 200, 20));
  REQUIRE(layout.segments.size() == 3);
  CHECK(layout.segments[0].area == QRectF(10, 0, 80, 20));
  CHECK(layout.segments[1].area == QRectF(90, 0, 40, 20));
  CHECK(layout.segments[2].category == "slack");
  CHECK(layout.segments[2].area == QRectF(130, 0, 40, 20));
  CHECK(layout.mark == Approx(10 + 180));
  CHECK(layout.unusable == QRectF(190, 0, 20, 20));
  CHECK(layout.overflow.isEmpty());
}

TEST_CASE("a load that is too much makes the bar stand for it, and shows what is beyond the mark") {
  // 300 bytes on 300 pixels, 90 usable: the overflow is 210 pixels wide.
  const LoadLineLayout layout = lay_out_load_line(space(100, 90, 300), QRectF(0, 0, 300, 20));
  CHECK(layout.mark == Approx(90));
  CHECK(layout.overflow.width() == Approx(210));
  CHECK(layout.segments.back().area.right() == Approx(300));
}

TEST_CASE("segments never pass the peak, even where categories sum up to more at another moment") {
  SpaceAnswer answer = space(100, 100, 40);
  answer.by_category.optimizer = Bytes(500);
  const LoadLineLayout layout = lay_out_load_line(answer, QRectF(0, 0, 100, 10));
  CHECK(layout.segments.back().area.right() <= 40.0001);
}

TEST_CASE("the verdict tells of the memory that decides: the fullest, or the one that is short of most") {
  const auto named = [](const char* name, std::int64_t usable, std::int64_t peak) {
    SpaceAnswer answer = space(usable, usable, peak);
    answer.space = name;
    return answer;
  };
  // 4 of 23 on the device is fuller than next to nothing of 14, though more of it is free.
  CHECK(deciding_space({named("gpu0", 23000, 4000), named("host", 14000, 1)})->space == "gpu0");
  CHECK(deciding_space({named("gpu0", 1000, 900), named("host", 1000, 950)})->space == "host");
  CHECK(deciding_space({named("gpu0", 1000, 500), named("host", 1000, 500)})->space == "gpu0");
  CHECK(deciding_space({named("gpu0", 100, 110), named("host", 1000, 1090)})->space == "host");
  CHECK(deciding_space({named("gpu0", 100, 100), named("host", 1000, 1090)})->space == "host");
  CHECK(deciding_space({}) == nullptr);
}

TEST_CASE("the best points are those that no fitting point beats in both memory and time") {
  std::vector<ScatterPoint> points(5);
  const std::int64_t bytes[] = {10, 20, 30, 20, 5};
  const double seconds[] = {9, 5, 6, 7, 1};
  for (std::size_t i = 0; i < 5; ++i) points[i].device = Bytes(bytes[i]), points[i].seconds = seconds[i];
  points[4].fits = false;  // the smallest and fastest does not count
  mark_best(points);
  CHECK(points[0].best);        // the smallest
  CHECK(points[1].best);        // the fastest
  CHECK_FALSE(points[2].best);  // larger and slower than the second
  CHECK_FALSE(points[3].best);  // as large and slower
  CHECK_FALSE(points[4].best);
}

TEST_CASE("a click finds the nearest point within reach, and nothing beyond it") {
  std::vector<ScatterPoint> points(2);
  points[0].device = kGiB, points[0].seconds = 1;
  points[1].device = 3 * kGiB, points[1].seconds = 2;
  const ScatterScale scale(points, 4 * kGiB, QRectF(0, 0, 400, 200));
  CHECK(point_at(points, scale, scale.at(points[1]) + QPointF(3, -3), 12) == std::size_t(1));
  CHECK_FALSE(point_at(points, scale, scale.at(points[1]) + QPointF(30, 0), 12).has_value());
  CHECK(scale.y(1) > scale.y(2));  // more time lies higher
}

TEST_CASE("marks of the memory axis stand evenly and leave their labels room") {
  for (const std::int64_t usable : {3, 6, 11, 24, 80, 288}) {
    for (const double width : {180.0, 250.0, 600.0}) {
      const ScatterScale scale({}, usable * kGiB, QRectF(0, 0, width, 200));
      const auto marks = scale.memory_marks(64);
      REQUIRE(marks.size() >= 2);
      for (std::size_t i = 1; i < marks.size(); ++i) {
        CHECK(scale.x(marks[i]) - scale.x(marks[i - 1]) >= 64);
        CHECK((marks[i] - marks[i - 1]) == marks[1]);
      }
    }
  }
}

TEST_CASE("the axis of step times has two marks at least, also for a single strategy") {
  for (const double seconds : {0.0021, 0.051, 0.45, 0.99, 2.93, 147.9}) {
    ScatterPoint point;
    point.device = kGiB, point.seconds = seconds;
    CHECK(ScatterScale({point}, 4 * kGiB, QRectF(0, 0, 400, 200)).time_marks().size() >= 2);
  }
}

TEST_CASE("round marks lie within their bounds and are multiples of 1, 2 or 5 times a power of ten") {
  const auto fifths = round_marks(0, 1, 4);
  REQUIRE(fifths.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) CHECK(fifths[i] == Approx(0.2 * static_cast<double>(i)));
  const auto marks = round_marks(120, 480, 4);
  CHECK(marks.front() >= 120);
  CHECK(marks.back() <= 480);
  CHECK(marks[1] - marks[0] == Approx(100));
}

TEST_CASE("counts are read as people write them") {
  CHECK(parse_count("300B") == 300e9);
  CHECK(parse_count("1.5 M") == 1.5e6);
  CHECK(parse_count("20,000") == 20000);
  CHECK_FALSE(parse_count("many"));
  CHECK_FALSE(parse_count("-1"));
  CHECK_FALSE(parse_count(""));
}

TEST_CASE("options of the command line become choices, and a bad one is refused by name") {
  const auto choices = with_options({}, {{"ram", "32GiB"}, {"batch", "4"}, {"model", "gpt2"}});
  REQUIRE(choices);
  CHECK(choices->ram_gib == 32);
  CHECK(choices->batch == 4);
  CHECK(choices->model == "gpt2");
  const auto refused = with_options({}, {{"batch", "some"}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("--batch") != std::string::npos);
}
