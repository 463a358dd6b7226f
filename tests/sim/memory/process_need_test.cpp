#include "sim/memory/process_need.h"

#include <catch2/catch.hpp>

#include "tests/core/trace/random_tiny_plan.h"

using namespace plimsoll;

namespace {

/// A device arena of one byte more than a page, and two instructions.
Plan two_instructions() {
  TinyPlan tiny;
  const QueueId queue = tiny.queue(QueueKind::kCompute);
  const BufferId x = tiny.buffer(TinyPlan::kDevice, 100);
  tiny.launch(queue, 10, {}, {tiny.whole(x, Access::kWrite)});
  tiny.launch(queue, 10, {}, {tiny.whole(x, Access::kRead)});
  return tiny.build();
}

}  // namespace

TEST_CASE("arenas count in whole pages, and those of drives not at all") {
  Plan plan = two_instructions();
  Bytes expected;
  for (Arena& arena : plan.arenas) {
    const bool drive = plan.platform.at(arena.space).kind == SpaceKind::kSsd;
    arena.bytes = Bytes(4097);
    if (!drive) expected += Bytes(8192);
  }
  CHECK(process_need(plan, 0).arenas == expected);
  for (Arena& arena : plan.arenas) plan.platform.spaces[arena.space.index].kind = SpaceKind::kSsd;
  CHECK(process_need(plan, 0).arenas == Bytes(0));
}

TEST_CASE("events take memory by their number, which is instructions times traced steps") {
  const Plan plan = two_instructions();
  CHECK(process_need(plan, 0).events == Bytes(0));
  CHECK(process_need(plan, 500).events == events_kept(1000));
  CHECK(events_kept(1000) > Bytes(32 * 1000));  // an event itself has 32 bytes
}

TEST_CASE("the program's own need is there without any arena, and its sum is the total") {
  const ProcessNeed need = process_need(two_instructions(), 10);
  CHECK(need.program > kMiB);
  CHECK(need.total() == need.arenas + need.events + need.program);
}

TEST_CASE("a plan of two-byte kernels needs scratch for every CPU worker") {
  Plan plan = two_instructions();
  for (Queue& queue : plan.platform.queues) queue.name = "compute";
  for (Processor& processor : plan.platform.processors) {
    processor.kind = ProcessorKind::kCpu;
    processor.cores = 3;
  }
  plan.recipe.precision = Precision::kFp32;
  const Bytes without = process_need(plan, 0).program;
  plan.recipe.precision = Precision::kBf16Mixed;
  CHECK(process_need(plan, 0).program - without == Bytes(3 * 2 * 1024 * 1024));  // 3 · 2^19 floats
}
