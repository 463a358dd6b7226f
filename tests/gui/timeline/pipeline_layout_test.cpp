#include <catch2/catch.hpp>

#include "gui/pipelines/pipeline_layout.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

TimedPipeline timed(const char* name, int ranks, int micro_batches) {
  const auto pipeline = time_pipeline({.schedule = name, .ranks = ranks, .micro_batches = micro_batches});
  REQUIRE(pipeline);
  return *pipeline;
}

}  // namespace

TEST_CASE("boxes of a schedule lie at their times, a row a rank") {
  // gpipe of 2 ranks, 2 micro-batches, F = 1, B = I + W = 2: rank 0 F0 F1 at 0, 1; rank 1 F0 F1 at 1, 2, B0 or B1 from 3
  // on; the last backward of rank 0 ends at 9: makespan (2 + 2 − 1) · 3. In 900 pixels a unit is 100.
  const TimedPipeline pipeline = timed("gpipe", 2, 2);
  CHECK(pipeline.costs.units(pipeline.timing.makespan) == Approx(9));
  const TimeScale scale = fitted({0, static_cast<double>(pipeline.timing.makespan.count)}, 50, 900);
  const auto boxes = pipeline_boxes(pipeline, scale, {.top = 10, .height = 30, .gap = 4});
  REQUIRE(boxes.size() == 8);
  CHECK(boxes[0].left == Approx(50));
  CHECK(boxes[0].right == Approx(150));
  CHECK(boxes[0].top == 10);
  CHECK(boxes[0].bottom == 36);
  CHECK(boxes[4].rank == 1);
  CHECK(boxes[4].left == Approx(150));
  CHECK(boxes[4].top == 40);
  CHECK(boxes[6].right - boxes[6].left == Approx(200));
}

TEST_CASE("the op under the pointer is found, and none in a bubble") {
  const TimedPipeline pipeline = timed("gpipe", 2, 2);
  const TimeScale scale = fitted({0, static_cast<double>(pipeline.timing.makespan.count)}, 50, 900);
  const auto boxes = pipeline_boxes(pipeline, scale, {.top = 10, .height = 30, .gap = 4});
  CHECK(box_at(boxes, 100, 20)->index == 0);
  CHECK_FALSE(box_at(boxes, 100, 50));  // rank 1 waits for the first micro-batch
  CHECK_FALSE(box_at(boxes, 100, 38));  // between rows
}

TEST_CASE("the boxes of every schedule of a rank never overlap") {
  for (const char* name : {"naive", "1f1b", "interleaved", "chimera", "zb-h1", "zb-h2", "zb-v", "v-half", "dualpipe", "hanayo"}) {
    const TimedPipeline pipeline = timed(name, 4, 8);
    const TimeScale scale = fitted({0, static_cast<double>(pipeline.timing.makespan.count)}, 0, 4000);
    const auto boxes = pipeline_boxes(pipeline, scale, {});
    INFO(name);
    CHECK(boxes.size() == pipeline.ops());
    for (std::size_t i = 1; i < boxes.size(); ++i) {
      if (boxes[i].rank == boxes[i - 1].rank) CHECK(boxes[i].left >= boxes[i - 1].right - 1e-6);
    }
  }
}

TEST_CASE("of boxes that share a pixel one is drawn, however many there are") {
  const TimedPipeline pipeline = timed("1f1b", 2, 256);
  const TimeScale scale = fitted({0, static_cast<double>(pipeline.timing.makespan.count)}, 0, 100);
  CHECK(pipeline_boxes(pipeline, scale, {}).size() <= 2 * 102);
}

TEST_CASE("a later stage of a rank is told from its first") {
  const TimedPipeline pipeline = timed("interleaved", 2, 4);
  const auto boxes = pipeline_boxes(pipeline, fitted({0, static_cast<double>(pipeline.timing.makespan.count)}, 0, 4000), {});
  for (const PipelineBox& box : boxes) {
    const PipelineOp& op = pipeline.schedule.orders[box.rank][box.index];
    CHECK(box.chunk == op.stage.index / 2);  // stages 0 and 2 on rank 0, 1 and 3 on rank 1
  }
}
