#include "executor/tiers/drive_watch.h"

#include <catch2/catch.hpp>

namespace plimsoll {
namespace {

constexpr ExpectedRates kRates{.read = 1e9, .write = 5e8};
constexpr Bytes kPiece{100'000'000};  // 0.1 s of reading, 0.2 s of writing

/// Moves pieces one after another, each in that many times its expected time (with the 4 ms of grace left out).
void move(DriveWatch& watch, Nanoseconds& now, int pieces, double times, IoDirection direction = IoDirection::kRead) {
  const double seconds = direction == IoDirection::kRead ? 0.1 : 0.2;
  for (int i = 0; i < pieces; ++i) {
    watch.begin(now);
    now += from_seconds(seconds * times);
    watch.end(now, direction, kPiece);
  }
}

}  // namespace

TEST_CASE("a drive at a third of its rate is noticed once, with what it moved") {
  // Five pieces of 0.104 s expected make a window of 0.52 s; three windows are 15 pieces: 1.5 GB in 15 · 0.3 s.
  DriveWatch watch(kRates);
  Nanoseconds now;
  move(watch, now, 14, 3.0);
  CHECK_FALSE(watch.take());
  move(watch, now, 1, 3.0);
  const auto slow = watch.take();
  REQUIRE(slow);
  CHECK(slow->read == kPiece * 15);
  CHECK(slow->written == Bytes(0));
  CHECK(slow->seconds == Approx(4.5));
  CHECK(slow->expected_seconds == Approx(15 * 0.104));
  CHECK(slow->reached(kRates).read ==
        Approx(kRates.read / 3));  // the rate itself, without the patience for each transfer
  CHECK(slow->reached(kRates).write == Approx(kRates.write / 3));
  move(watch, now, 60, 3.0);
  CHECK_FALSE(watch.take());
}

TEST_CASE("what a drive reaches in small transfers is what it moved, however patient the watch was") {
  // 100 kB take 0.1 ms of reading by plan, and 20 ms here: 5 MB/s, a two-hundredth. By 4.1 ms of patience it would be a
  // fifth.
  DriveWatch watch(kRates);
  Nanoseconds now;
  for (int i = 0; i < 375; ++i) {
    watch.begin(now);
    now += from_seconds(0.02);
    watch.end(now, IoDirection::kRead, Bytes(100'000));
  }
  const auto slow = watch.take();
  REQUIRE(slow);
  CHECK(slow->reached(kRates).read == Approx(5e6));
  CHECK(slow->reached(kRates).write == Approx(2.5e6));
}

TEST_CASE("writes are held to the rate of writing, and both directions draw on the same seconds") {
  DriveWatch watch(kRates);
  Nanoseconds now;
  move(watch, now, 30, 1.0, IoDirection::kWrite);  // half as fast as reading, as it should be
  CHECK_FALSE(watch.take());
  // A read and a write at once, for 0.3 s: as long as one after the other.
  for (int i = 0; i < 30; ++i) {
    watch.begin(now);
    watch.begin(now);
    now += from_seconds(0.15);
    watch.end(now, IoDirection::kRead, kPiece);
    now += from_seconds(0.15);
    watch.end(now, IoDirection::kWrite, kPiece);
  }
  CHECK_FALSE(watch.take());
}

TEST_CASE("one long pause, or a slow stretch that ends, is no slow drive") {
  DriveWatch watch(kRates);
  Nanoseconds now;
  move(watch, now, 20, 1.0);
  move(watch, now, 1, 100.0);  // 10 s for a tenth of a second's bytes
  move(watch, now, 20, 1.0);
  CHECK_FALSE(watch.take());
  move(watch, now, 8, 4.0);  // two windows at most
  move(watch, now, 20, 1.0);
  CHECK_FALSE(watch.take());
}

TEST_CASE("time in which nothing is under way does not count") {
  DriveWatch watch(kRates);
  Nanoseconds now;
  for (int i = 0; i < 40; ++i) {
    move(watch, now, 1, 1.0);
    now += from_seconds(5);
  }
  CHECK_FALSE(watch.take());
}

TEST_CASE("transfers so small that a wait for a core outlasts them prove nothing") {
  // 100 kB are 0.1 ms of reading; a thread that waits 4 ms for its core makes it 41 times as long.
  DriveWatch watch(kRates);
  Nanoseconds now;
  for (int i = 0; i < 2000; ++i) {
    watch.begin(now);
    now += from_seconds(0.0041);
    watch.end(now, IoDirection::kRead, Bytes(100'000));
  }
  CHECK_FALSE(watch.take());
}

}  // namespace plimsoll
