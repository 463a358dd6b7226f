#include "executor/cpu/dispatcher.h"

#include <catch2/catch.hpp>

#include <random>
#include <set>

#include "tests/support/flat_body_builder.h"

namespace plimsoll {
namespace {

using Started = std::vector<StepInstruction>;

/// Everything that may start now, queue by queue, started.
Started start_all(Dispatcher& dispatcher, std::size_t queues) {
  Started started;
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t q = 0; q < queues; ++q) {
      while (const auto next = dispatcher.start(QueueId(q))) {
        started.push_back(*next);
        progress = true;
      }
    }
  }
  return started;
}

/// A body of random queues and dependencies, as a plan that is legal but otherwise as odd as can be.
FlatBodyBuilder random_body(std::mt19937_64& random, std::size_t queues, std::size_t instructions) {
  FlatBodyBuilder builder;
  for (std::size_t i = 0; i < instructions; ++i) {
    std::vector<Dependency> dependencies;
    while (random() % 3 != 0) {
      const auto distance = static_cast<std::uint32_t>(random() % 3);
      const std::size_t bound = distance == 0 ? i : instructions;  // an earlier step may be depended on as a whole
      if (bound == 0) continue;
      dependencies.push_back(
          {.target = static_cast<std::uint32_t>(random() % bound), .distance = distance, .local = true});
    }
    builder.add(QueueId(random() % queues), dependencies);
  }
  return builder;
}

/// Checks each start against the law, written down again from the definitions: sets of what started and ended.
struct LawChecker {
  const Platform& platform;
  const FlatBody& body;
  std::set<StepInstruction> started, ended;

  void check_start(StepInstruction which) {
    const Instruction& instruction = body.list.instructions[which.instruction];
    for (const Dependency& dependency : body.dependencies(instruction)) {
      if (dependency.distance > which.step) continue;
      REQUIRE(ended.count({which.step - dependency.distance, dependency.target}) == 1);
    }
    std::int64_t running = 0;
    for (std::uint32_t step = 0; step <= which.step; ++step) {
      for (std::uint32_t id = 0; id < body.size(); ++id) {
        const StepInstruction other{step, id};
        if (other >= which) break;
        if (body.list.instructions[id].queue != instruction.queue) continue;
        REQUIRE(started.count(other) == 1);  // in order
        running += ended.count(other) == 0 ? 1 : 0;
      }
    }
    REQUIRE(running < platform.at(instruction.queue).width);
    REQUIRE(started.insert(which).second);
  }
};

}  // namespace

TEST_CASE("a queue of width 1 starts an instruction after its predecessor ended") {
  const Platform platform = queues_of_width({1});
  const FlatBody body = FlatBodyBuilder().add(QueueId(0)).add(QueueId(0)).build();
  Dispatcher dispatcher(platform, body, 1);
  CHECK(start_all(dispatcher, 1) == Started{{0, 0}});
  dispatcher.end({0, 0});
  CHECK(start_all(dispatcher, 1) == Started{{0, 1}});
  CHECK(dispatcher.ended_steps() == 0);
  dispatcher.end({0, 1});
  CHECK(dispatcher.ended_steps() == 1);
  CHECK(dispatcher.exhausted(QueueId(0)));
}

TEST_CASE("a queue of width 2 starts in order, two at once, and orders nothing else") {
  const Platform platform = queues_of_width({2});
  const FlatBody body = FlatBodyBuilder().add(QueueId(0)).add(QueueId(0)).add(QueueId(0)).build();
  Dispatcher dispatcher(platform, body, 1);
  CHECK(start_all(dispatcher, 1) == Started{{0, 0}, {0, 1}});
  dispatcher.end({0, 1});  // out of order
  CHECK(start_all(dispatcher, 1) == Started{{0, 2}});
}

TEST_CASE("a blocked head holds back what stands behind it on a wide queue") {
  const Platform platform = queues_of_width({2, 1});
  const FlatBody body =
      FlatBodyBuilder().add(QueueId(1)).add(QueueId(0), {{.target = 0, .distance = 0}}).add(QueueId(0)).build();
  Dispatcher dispatcher(platform, body, 1);
  CHECK(start_all(dispatcher, 2) == Started{{0, 0}});
  dispatcher.end({0, 0});
  CHECK(start_all(dispatcher, 2) == Started{{0, 1}, {0, 2}});
}

TEST_CASE("step s+1's loading starts while step s computes, as far as its dependencies let it") {
  // 0 loads on queue 0, 1 computes on queue 1 from what 0 loaded; two slots: loading waits for the compute two steps
  // ago.
  const Platform platform = queues_of_width({1, 1});
  const FlatBody body = FlatBodyBuilder()
                            .add(QueueId(0), {{.target = 1, .distance = 2}})
                            .add(QueueId(1), {{.target = 0, .distance = 0}})
                            .build();
  Dispatcher dispatcher(platform, body, 5);
  CHECK(start_all(dispatcher, 2) == Started{{0, 0}});
  dispatcher.end({0, 0});
  CHECK(start_all(dispatcher, 2) == Started{{1, 0}, {0, 1}});
  dispatcher.end({1, 0});
  CHECK(start_all(dispatcher, 2).empty());  // step 2's load waits for step 0's compute
  dispatcher.end({0, 1});
  CHECK(start_all(dispatcher, 2) == Started{{2, 0}, {1, 1}});
}

TEST_CASE("stop lets every step that has begun end, and none begin") {
  const Platform platform = queues_of_width({1, 1});
  const FlatBody body = FlatBodyBuilder().add(QueueId(0)).add(QueueId(1), {{.target = 0, .distance = 0}}).build();
  Dispatcher dispatcher(platform, body, 100);
  start_all(dispatcher, 2);
  dispatcher.end({0, 0});
  start_all(dispatcher, 2);  // (1, 0) and (0, 1) run
  dispatcher.stop();
  CHECK(dispatcher.steps() == 2);
  dispatcher.end({1, 0});
  CHECK(dispatcher.exhausted(QueueId(0)));
  dispatcher.end({0, 1});
  CHECK(start_all(dispatcher, 2) == Started{{1, 1}});
  dispatcher.end({1, 1});
  CHECK(dispatcher.ended_steps() == 2);
}

TEST_CASE("random bodies start nothing early, never deadlock and run everything, in whatever order things end") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::size_t queues = 1 + random() % 5;
    std::vector<std::int64_t> widths(queues);
    for (auto& width : widths) width = random() % 2 == 0 ? 1 : 1 + static_cast<std::int64_t>(random() % 4);
    const Platform platform = queues_of_width(widths);
    const FlatBody body = random_body(random, queues, 1 + random() % 24).build();
    constexpr std::uint32_t kSteps = 5;
    Dispatcher dispatcher(platform, body, kSteps);
    LawChecker law{.platform = platform, .body = body, .started = {}, .ended = {}};
    std::vector<StepInstruction> running;
    while (law.ended.size() < body.size() * kSteps) {
      for (std::size_t q = 0; q < queues; ++q) {
        if (random() % 4 == 0) continue;  // a slow thread
        if (const auto next = dispatcher.start(QueueId(q))) {
          law.check_start(*next);
          running.push_back(*next);
        }
      }
      if (running.empty()) {
        bool any = false;
        for (std::size_t q = 0; q < queues; ++q) any = any || dispatcher.ready(QueueId(q));
        REQUIRE(any);
        continue;
      }
      const std::size_t which = random() % running.size();
      dispatcher.end(running[which]);
      law.ended.insert(running[which]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
    }
    CHECK(dispatcher.ended_steps() == kSteps);
    for (std::size_t q = 0; q < queues; ++q) CHECK(dispatcher.exhausted(QueueId(q)));
  }
}

}  // namespace plimsoll
