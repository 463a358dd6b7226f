#include <catch2/catch.hpp>

#include "formats/machines/gpu_catalogue.h"
#include "formats/models/resolve_model.h"
#include "sim/stack/pipeline_time.h"
#include "sim/stack/predict_stack.h"

namespace plimsoll {
namespace {

/// A stage's own work of 8 micro-batches, each `pass` seconds there and back, and half a second of update.
StackTime stage_of(double pass, double flops) {
  StackTime time{.forward = 8 * pass / 3, .backward = 16 * pass / 3, .optimizer = 0.5};
  time.step = time.low = time.high = 8 * pass + 0.5;
  time.model_flops = time.hardware_flops = flops;
  return time;
}

StackSetup pipeline_of(std::int64_t stages, std::int64_t chunks) {
  StackSetup setup{.stack = Stack::kMegatron, .modules = ModuleStyle::kMegatron};
  setup.stages = stages;
  setup.chunks = chunks;
  return setup;
}

StackPrediction told(std::int64_t data_ranks, StackSetup setup, std::int64_t accumulate) {
  setup.data_ranks = data_ranks;
  setup.zero = 1;
  const Recipe recipe{.precision = Precision::kBf16Mixed, .accumulate = accumulate, .sequence = 4096};
  return predict_stack(resolve_model("llama3-8b").value(), recipe, setup, find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4").value()).value();
}

}  // namespace

TEST_CASE("the slowest stage of a pipeline works through all micro-batches and waits for one to pass the others") {
  const Recipe recipe{.accumulate = 8};
  // The last takes 6 s a micro-batch: 8 x 6 + 0.5 s, and three others of 3 s each before and behind it.
  const StackTime slow_end = pipeline_time({stage_of(3, 10), stage_of(3, 10), stage_of(6, 30)}, recipe, pipeline_of(4, 1));
  CHECK(slow_end.step == Approx(48.5 + 9));
  CHECK(slow_end.bubble == Approx(9));
  CHECK(slow_end.backward == Approx(32));
  CHECK(slow_end.model_flops == Approx((3 * 10 + 30) / 4.0));
  // The first takes 5 s and so do the two between; the last 2 s.
  CHECK(pipeline_time({stage_of(5, 10), stage_of(5, 10), stage_of(2, 30)}, recipe, pipeline_of(4, 1)).step == Approx(40.5 + 2 * 5 + 2));
  // Chunks pass one by one: a third of the waiting.
  CHECK(pipeline_time({stage_of(3, 10), stage_of(3, 10), stage_of(6, 30)}, recipe, pipeline_of(4, 3)).step == Approx(48.5 + 3));
  // Two between take 7 s each: one of them works 8 x 7 + 0.5 s and waits for 3 + 7 + 6 s of the others.
  const StackTime slow_between = pipeline_time({stage_of(3, 10), stage_of(7, 40), stage_of(6, 30)}, recipe, pipeline_of(4, 1));
  CHECK(slow_between.step == Approx(56.5 + 16));
  CHECK(slow_between.model_flops == Approx((10 + 2 * 40 + 30) / 4.0));
  // Of two stages none is between.
  CHECK(pipeline_time({stage_of(3, 10), stage_of(9, 90), stage_of(6, 30)}, recipe, pipeline_of(2, 1)).step == Approx(48.5 + 3));
  // Alike stages: (p - 1) / (m c) of the passes (Narayanan et al. 2021).
  CHECK(pipeline_time({stage_of(3, 1), stage_of(3, 1), stage_of(3, 1)}, recipe, pipeline_of(4, 2)).bubble == Approx(24 * 3 / (8.0 * 2)));
}

TEST_CASE("a pipeline does all the arithmetic that one stage would, and no less time than without waiting") {
  const StackPrediction whole = told(8, pipeline_of(1, 1), 8);
  for (const std::int64_t stages : {2, 4, 8}) {
    const StackPrediction cut = told(8 / stages, pipeline_of(stages, 1), 8 * stages);
    CAPTURE(stages);
    CHECK(8 * cut.time.model_flops == Approx(8 * whole.time.model_flops).epsilon(1e-6));
    CHECK(cut.time.step > whole.time.step);
  }
}

TEST_CASE("stages between the ends that have a layer more are told, of time, of arithmetic and of memory") {
  // (14 + 2) / 8: the ends have one layer, the six between two each.
  const ModelSpec spec = resolve_model("gpt:layers=14,hidden=4096,heads=32,vocab=1024,positions=2048").value();
  const GpuEntry gpu = find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4").value();
  const Recipe recipe{.precision = Precision::kBf16Mixed, .accumulate = 64, .sequence = 2048};
  StackSetup setup = pipeline_of(8, 1);
  const StackPrediction uneven = predict_stack(spec, recipe, setup, gpu).value();
  const StackPrediction whole = predict_stack(spec, recipe, pipeline_of(1, 1), gpu).value();
  CHECK(8 * uneven.time.model_flops == Approx(whole.time.model_flops).epsilon(1e-6));
  CHECK(uneven.time.forward + uneven.time.backward > 64 * 2 / 14.0 * 0.95 * (whole.time.forward + whole.time.backward) / 64);
  setup.stage = 1;
  CHECK(uneven.peak.allocated == predict_stack(spec, recipe, setup, gpu).value().peak.allocated);
  setup.stage = 0;
  CHECK(uneven.peak.allocated > predict_stack(spec, recipe, setup, gpu).value().peak.allocated);
}

TEST_CASE("a reduction once a step is no part of the passes that stages wait for, however many micro-batches there are") {
  const double two = told(8, pipeline_of(4, 1), 2).time.bubble;
  CHECK(told(8, pipeline_of(4, 1), 1).time.bubble == Approx(two).epsilon(0.02));
  CHECK(told(8, pipeline_of(4, 1), 4).time.bubble == Approx(two).epsilon(0.02));
}

}  // namespace plimsoll
