#include "tests/support/random_plan.h"

#include <catch2/catch.hpp>

#include "core/plan/verify_plan.h"
#include "tests/support/hashing_memory.h"

namespace plimsoll {
namespace {

constexpr std::uint32_t kSteps = 5;

}  // namespace

TEST_CASE("a lawful plan leaves the same memory under any delays as in the order of its ids") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const Plan plan = test::random_plan({.seed = seed, .instructions = 40});
    REQUIRE(verify_plan(plan));
    const FlatBody body = expand(plan, *plan.body("step"));
    const auto in_order = test::memory_in_order(plan, body, kSteps);
    for (const std::uint64_t jitter : {std::uint64_t{0}, seed}) {
      REQUIRE(test::memory_in_lanes(plan, body, kSteps, jitter) == in_order);
    }
  }
}

TEST_CASE("a plan whose conflicts are not ordered comes out differently: the comparison can fail") {
  bool any_differs = false;
  for (std::uint64_t seed = 1; seed <= 20 && !any_differs; ++seed) {
    const Plan plan = test::random_plan({.seed = seed, .instructions = 40, .ordered = false});
    const FlatBody body = expand(plan, *plan.body("step"));
    test::HashingMemory in_order(plan, body);
    test::HashingMemory other(plan, body);
    for (std::uint32_t step = 0; step < kSteps; ++step) {
      for (std::uint32_t id = 0; id < body.size(); ++id) in_order.apply(id, step);
    }
    // An order that the dispatcher allows, on one thread: always the last queue that is ready.
    Dispatcher dispatcher(plan.platform, body, kSteps);
    while (dispatcher.ended_steps() < kSteps) {
      for (std::size_t q = plan.platform.queues.size(); q-- > 0;) {
        const auto next = dispatcher.start(QueueId(q));
        if (!next) continue;
        other.apply(next->instruction, next->step);
        dispatcher.end(*next);
        break;
      }
    }
    any_differs = in_order.spaces() != other.spaces();
  }
  CHECK(any_differs);
}

}  // namespace plimsoll
