#include "core/plan/happens_before.h"

#include <catch2/catch.hpp>

#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

struct Feeder {
  Platform platform = tiny_platform();
  HappensBefore order{platform};

  std::uint32_t add(std::string_view queue, std::vector<std::uint32_t> dependencies = {},
                    std::vector<QueueId> members = {}) {
    return order.add(queue_named(platform, queue), members, dependencies);
  }
};

}  // namespace

TEST_CASE("a queue of width 1 orders all its instructions") {
  Feeder f;
  const auto a = f.add("compute"), b = f.add("h2d"), c = f.add("compute"), d = f.add("compute");
  CHECK(f.order.ordered(a, c));
  CHECK(f.order.ordered(a, d));
  CHECK_FALSE(f.order.ordered(a, b));
  CHECK_FALSE(f.order.ordered(b, d));
}

TEST_CASE("dependencies order across queues and through each other") {
  Feeder f;
  const auto a = f.add("h2d");
  const auto b = f.add("compute", {a});
  const auto c = f.add("d2h", {b});
  CHECK(f.order.ordered(a, c));
  CHECK(f.order.ordered(b, c));
}

TEST_CASE("a queue of width 4 orders nothing but by dependencies") {
  Feeder f;
  const auto a = f.add("ssd.read"), b = f.add("ssd.read");
  CHECK_FALSE(f.order.ordered(a, b));
  const auto c = f.add("cpu", {a});
  const auto d = f.add("ssd.read", {c});  // after a by the way over the CPU
  CHECK(f.order.ordered(a, d));
  CHECK_FALSE(f.order.ordered(b, d));
  CHECK(f.order.lane(queue_named(f.platform, "ssd.read")) == HappensBefore::kNoLane);
}

TEST_CASE("paths along a wide queue alone are found, through forks and joins") {
  Feeder f;  // a chain of diamonds: 0 > {1, 2} > 3 > {4, 5} > 6 > …
  std::uint32_t join = f.add("ssd.read");
  const std::uint32_t first = join, stranger = f.add("ssd.write");
  for (int i = 0; i < 30; ++i) {
    const auto left = f.add("ssd.read", {join}), right = f.add("ssd.write", {join});
    join = f.add("ssd.read", {left, right});
  }
  const auto last = f.add("cpu", {join});
  CHECK(f.order.ordered(first, join));
  CHECK(f.order.ordered(first, last));
  CHECK_FALSE(f.order.ordered(stranger, last));
}

TEST_CASE("any number of open instructions on a wide queue is told apart") {
  Feeder f;
  std::vector<std::uint32_t> reads;
  for (int i = 0; i < 40; ++i) reads.push_back(f.add("ssd.read"));
  const auto early = f.add("cpu", {reads[3]});
  const auto late = f.add("compute", {reads[39]});
  for (std::uint32_t i = 0; i < 40; ++i) {
    CHECK(f.order.ordered(reads[i], early) == (i == 3));
    CHECK(f.order.ordered(reads[i], late) == (i == 39));
  }
}

TEST_CASE("a collective waits on every member's queue and holds up every member's queue") {
  Feeder f;  // "h2d" and "d2h" stand for two ranks' communication queues
  const auto left = f.add("h2d"), right = f.add("d2h");
  const auto all = f.add("h2d", {}, {queue_named(f.platform, "d2h")});
  const auto after_left = f.add("h2d"), after_right = f.add("d2h");
  CHECK(f.order.ordered(left, all));
  CHECK(f.order.ordered(right, all));
  CHECK(f.order.ordered(all, after_right));
  CHECK(f.order.ordered(left, after_right));
  CHECK(f.order.ordered(right, after_left));
  CHECK_FALSE(f.order.ordered(after_left, after_right));
}

TEST_CASE("between begin and end the order known so far is told") {
  Feeder f;
  const auto a = f.add("h2d"), b = f.add("cpu", {a});
  f.order.begin(queue_named(f.platform, "compute"), {});
  CHECK_FALSE(f.order.ordered(a, 2));
  f.order.depend(b);
  CHECK(f.order.ordered(a, 2));
  const auto c = f.order.end();
  CHECK(c == 2);
  CHECK(f.order.ordered(a, c));
}
