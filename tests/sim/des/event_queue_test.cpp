#include "sim/des/event_queue.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace plimsoll;

TEST_CASE("the event queue yields events by time and equal times by id") {
  EventQueue queue;
  for (const PendingEvent event : {PendingEvent{5, 1}, {3, 9}, {5, 0}, {3, 2}, {4, 7}}) queue.push(event);
  std::vector<std::pair<std::int64_t, std::uint64_t>> order;
  while (!queue.empty()) {
    const PendingEvent event = queue.pop();
    order.emplace_back(event.time, event.id);
  }
  CHECK(order == std::vector<std::pair<std::int64_t, std::uint64_t>>{{3, 2}, {3, 9}, {4, 7}, {5, 0}, {5, 1}});
}

TEST_CASE("the event queue agrees with a sorted list under random pushes and pops") {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    EventQueue queue;
    std::vector<PendingEvent> sorted;
    for (std::uint64_t id = 0; id < 400; ++id) {
      if (random() % 3 != 0 || sorted.empty()) {
        const PendingEvent event{static_cast<std::int64_t>(random() % 50), id};
        queue.push(event);
        sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), event), event);
      } else {
        REQUIRE(queue.next_time() == sorted.front().time);
        REQUIRE(queue.pop().id == sorted.front().id);
        sorted.erase(sorted.begin());
      }
      REQUIRE(queue.size() == sorted.size());
    }
  }
}

TEST_CASE("an empty event queue's next time is never") { CHECK(EventQueue().next_time() == INT64_MAX); }
