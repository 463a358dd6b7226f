#include "sim/stack/pipeline_time.h"

namespace plimsoll {
namespace {

/// There and back, of one micro-batch.
double pass_seconds(const StackTime& stage, const Recipe& recipe) {
  return (stage.forward + stage.backward - stage.once) / static_cast<double>(recipe.accumulate);
}

}  // namespace

int PipelineStages::slowest(std::int64_t stages) const {
  const bool last_is_slower = last.step > first.step;
  const double slower = last_is_slower ? last.step : first.step;
  if (stages > 2 && between.step > slower) return 1;
  return last_is_slower ? 2 : 0;
}

StackTime pipeline_time(const PipelineStages& pipeline, const Recipe& recipe, const StackSetup& setup) {
  const StackTime* kinds[] = {&pipeline.first, &pipeline.between, &pipeline.last};
  const auto stages = static_cast<double>(setup.stages);
  const double counts[] = {1, stages - 2, 1};
  StackTime time = *kinds[pipeline.slowest(setup.stages)];
  double others = -pass_seconds(time, recipe), model_flops = 0, hardware_flops = 0;
  for (int i = 0; i < 3; ++i) {
    others += counts[i] * pass_seconds(*kinds[i], recipe);
    model_flops += counts[i] * kinds[i]->model_flops;
    hardware_flops += counts[i] * kinds[i]->hardware_flops;
  }
  time.bubble = others / static_cast<double>(setup.chunks);
  time.model_flops = model_flops / stages;
  time.hardware_flops = hardware_flops / stages;
  if (time.step <= 0) return time;
  const double longer = 1 + time.bubble / time.step;
  for (double* seconds : {&time.step, &time.low, &time.high}) *seconds *= longer;
  return time;
}

}  // namespace plimsoll
