#include "sim/stack/stack_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cost/efficiencies.h"
#include "sim/planner/fit_answer.h"

namespace plimsoll {
namespace {

SpaceAnswer device_answer(const GpuEntry& gpu, const StackPrediction& prediction) {
  SpaceAnswer space{.space = "gpu0", .capacity = gpu.memory, .usable = prediction.usable};
  space.peak = prediction.usable - prediction.margin;
  space.peak_allocated = prediction.peak.allocated;
  space.peak_reserved = prediction.peak.reserved;
  space.peak_process = prediction.peak.process;
  space.peak_requested = prediction.peak.requested;
  space.peak_device = prediction.peak.device;
  space.certain = prediction.certain;
  space.peak_at = prediction.peak_at;
  const StackCategories& held = prediction.at_peak;
  space.by_category = {.parameters = held.parameters, .gradients = held.gradients, .optimizer = held.optimizer,
                       .activations = held.activations, .workspace = held.workspace,
                       .framework = prediction.peak.process - prediction.peak.reserved};
  return space;
}

/// Host memory or a drive, where a stack keeps something there; what there is stands beside it where the user said it.
SpaceAnswer waiting_answer(const char* name, Bytes needed, Bytes there) {
  SpaceAnswer space{.space = name, .capacity = there, .usable = there};
  space.peak = space.peak_allocated = space.peak_reserved = space.peak_process = needed;
  space.by_category.optimizer = needed;
  return space;
}

void add_waiting(FitAnswer& answer, const StackSetup& setup, const StackPrediction& prediction) {
  const bool offloads = setup.parameters != Home::kDevice || setup.optimizer != Home::kDevice || setup.automatic_placement ||
                        prediction.paged_out > Bytes(0);
  if (offloads) answer.memory.push_back(waiting_answer("host", prediction.host, setup.host_memory.value_or(prediction.host)));
  if (prediction.drive > Bytes(0)) answer.memory.push_back(waiting_answer("ssd", prediction.drive, prediction.drive));
}

std::string origin_of(const GpuEntry& gpu, const Recipe& recipe, const StackSetup& setup) {
  const auto known = setup.fp8.exists() ? fp8_efficiency(gpu) : product_efficiency(gpu, compute_dtype(recipe.precision));
  return std::string(to_text(known ? known->origin : CostOrigin::kExtrapolated));
}

void add_times(FitAnswer& answer, const Recipe& recipe, const StackSetup& setup, const StackTime& time) {
  answer.step_seconds = time.step;
  answer.step_seconds_low = time.low;
  answer.step_seconds_high = time.high;
  answer.phases = {.forward_seconds = time.forward, .backward_seconds = time.backward, .optimizer_seconds = time.optimizer,
                   .exposed_transfer_seconds = time.exposed_transfer, .exposed_communication_seconds = time.exposed_communication};
  if (time.step <= 0) return;
  answer.bubble_fraction = time.bubble / time.step;
  const double samples = static_cast<double>(recipe.micro_batch * recipe.accumulate * setup.data_ranks);
  answer.samples_per_second = samples / time.step;
  answer.tokens_per_second = answer.samples_per_second * static_cast<double>(recipe.sequence * setup.preference.sequences());
  answer.model_tflops_per_gpu = time.model_flops / time.step * 1e-12;
  answer.hardware_tflops_per_gpu = time.hardware_flops / time.step * 1e-12;
  for (const StackLoad& load : time.loads)
    answer.loads.push_back({load.resource, std::min(1.0, load.seconds / time.step)});
  if (answer.loads.empty()) answer.loads.push_back({"compute", 1.0});
  answer.bottleneck = answer.loads.front().queue;
  answer.bottleneck_busy_fraction = answer.loads.front().busy_fraction;
}

}  // namespace

FitAnswer stack_answer(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu,
                       const StackPrediction& prediction) {
  return stack_answer(StackSubject{spec.name, parameter_count(spec), active_parameter_count(spec)}, recipe, setup, gpu, prediction);
}

FitAnswer stack_answer(StackSubject subject, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu,
                       const StackPrediction& prediction) {
  FitAnswer answer;
  answer.fits = prediction.fits;
  answer.model = std::move(subject.name);
  answer.parameters = subject.parameters;
  answer.active_parameters = subject.active_parameters;
  answer.stack = to_text(setup.stack);
  answer.strategy.name = answer.stack;
  answer.setup = describe(setup);
  answer.gpus = gpus_of(setup);
  answer.memory.push_back(device_answer(gpu, prediction));
  add_waiting(answer, setup, prediction);
  answer.calibration_kind = origin_of(gpu, recipe, setup);
  answer.calibration_source = "allocations by the stack's rules, kernels by published efficiencies (data/calibration)";
  add_times(answer, recipe, setup, prediction.time);
  return answer;
}

}  // namespace plimsoll
