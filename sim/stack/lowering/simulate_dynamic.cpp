#include "sim/stack/lowering/simulate_dynamic.h"

#include <fmt/format.h>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "sim/stack/lowering/allocation_events.h"
#include "sim/stack/lowering/launch_kernels.h"
#include "sim/stack/lowering/stack_platform.h"
#include "sim/stack/predict_stack.h"
#include "sim/stack/stack_answer.h"
#include "sim/stack/step_time.h"

namespace plimsoll {
namespace {

/// The type of the step's products.
std::optional<DType> product_type(const Plan& plan) {
  for (const Kernel& kernel : plan.kernels) {
    if (kernel.kind == OpKind::kLinear) return kernel.dtype;
  }
  return std::nullopt;
}

std::vector<std::string> buffer_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const Buffer& buffer : plan.buffers) names.push_back(buffer.name);
  return names;
}

StackTime timed_step(const Plan& plan) {
  const FlatBody flat = expand(plan, *plan.body("step"));
  std::vector<TimedLaunch> launches;
  double model = 0, hardware = 0;
  for (const Instruction& instruction : flat.list.instructions) {
    if (!instruction.kernel.valid()) continue;
    const RaisedLaunch raised = raise_launch(plan, instruction);
    launches.push_back(raised.timed);
    hardware += raised.flops;
    if (!raised.again) model += raised.flops;
  }
  StackTime time = lay_out_step(launches).time;
  time.model_flops = model;
  time.hardware_flops = hardware;
  return time;
}

/// The GPU as far as the platform states it, or as the catalogue has it under that name.
GpuEntry gpu_of(const Platform& platform) {
  if (const auto known = find_gpu(built_in_gpu_catalogue(), platform.name)) return *known;
  GpuEntry gpu;
  gpu.name = platform.name;
  gpu.memory = platform.at(kStackDevice).capacity;
  return gpu;
}

Result<void> check_stack_plan(const Plan& plan) {
  if (auto indices = check_indices(plan); !indices) return indices;
  const bool whole = plan.body("step") != nullptr && plan.platform.spaces.size() > kStackDrive.index && plan.arenas.size() == 2;
  if (whole) return {};
  return fail({.kind = ErrorKind::kDefect, .what = "the plan allocates while it runs, and is not one of another stack", .where = {},
               .remedy = "write it with plimsoll plan --stack"});
}

}  // namespace

const char* const kOneStage = "the plan has the work of one stage of its pipeline: what that waits for the others is in neither its time nor its tokens/s";

Result<FitAnswer> simulate_dynamic(const Plan& plan) {
  if (const auto whole = check_stack_plan(plan); !whole) return fail(whole.error());
  const auto setup = read_stack_words(plan.strategy.name);
  if (!setup) return fail(setup.error());
  const auto log = read_allocations(plan);
  if (!log) return fail(log.error());
  const Bytes taken = plan.platform.at(kStackContext).capacity;
  const DeviceRoom room{.context = plan.arena_bytes(kStackContext), .others = taken - plan.arena_bytes(kStackContext),
                        .usable = plan.platform.at(kStackDevice).usable};
  StackPrediction prediction = predict_allocations(**log, buffer_names(plan), room, setup->expandable_segments);
  prediction.time = timed_step(plan);
  const GpuEntry gpu = gpu_of(plan.platform);
  set_interval(prediction.time, product_type(plan), gpu);
  FitAnswer answer = stack_answer(plan.spec, plan.recipe, *setup, gpu, prediction);
  const std::string& words = plan.strategy.name;  // layers, recomputation and optimizer are in the plan's launches, not in its words
  const auto comma = words.find(", ");
  answer.setup = comma == std::string::npos ? std::string("as planned") : fmt::format("as planned, {}", words.substr(comma + 2));
  if (setup->stages > 1) answer.assumed.emplace_back(kOneStage);
  return answer;
}

}  // namespace plimsoll
