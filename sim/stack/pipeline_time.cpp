#include "sim/stack/pipeline_time.h"

namespace plimsoll {
namespace {

/// There and back, of one micro-batch.
double pass_seconds(const StackTime& stage, const Recipe& recipe) {
  return (stage.forward + stage.backward - stage.once) / static_cast<double>(recipe.accumulate);
}

}  // namespace

StackTime pipeline_time(const StackTime& first, const StackTime& last, const Recipe& recipe, const StackSetup& setup) {
  const bool last_is_slowest = last.step > first.step;
  StackTime time = last_is_slowest ? last : first;
  const auto stages = static_cast<double>(setup.stages);
  const double between = (stages - 2) * pass_seconds(first, recipe);
  time.bubble = (between + pass_seconds(last_is_slowest ? first : last, recipe)) / static_cast<double>(setup.chunks);
  time.model_flops = ((stages - 1) * first.model_flops + last.model_flops) / stages;
  time.hardware_flops = ((stages - 1) * first.hardware_flops + last.hardware_flops) / stages;
  if (time.step <= 0) return time;
  const double longer = 1 + time.bubble / time.step;
  for (double* seconds : {&time.step, &time.low, &time.high}) *seconds *= longer;
  return time;
}

}  // namespace plimsoll
