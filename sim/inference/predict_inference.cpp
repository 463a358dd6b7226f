#include "sim/inference/predict_inference.h"

#include <algorithm>
#include <functional>
#include <map>

#include "core/trace/summarize.h"
#include "sim/cost/kernel_work.h"
#include "sim/des/simulate.h"
#include "sim/inference/block_schedule.h"
#include "sim/inference/hooked_schedule.h"

namespace plimsoll {
namespace {

Plan write_pass(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform, std::int64_t cached) {
  return policy.is_hooked() ? write_hooked_schedule(task, policy, platform, cached)
                            : write_block_schedule(task, policy, platform, cached);
}

/// One pass: how long, and how long each queue is busy in it.
struct PassTime {
  double seconds = 0;
  std::vector<double> busy;
};

Result<PassTime> time_pass(const Plan& plan, const CostModel& costs) {
  const auto trace = simulate(plan, "step", costs, {.steps = 1});
  if (!trace) return fail(trace.error());
  const FlatBody body = expand(plan, *plan.body("step"));
  PassTime time{.seconds = to_seconds(trace->steps.front().duration()), .busy = {}};
  for (const Nanoseconds& busy : busy_by_queue(plan, body, *trace, 0)) time.busy.push_back(to_seconds(busy));
  return time;
}

/// Tokens that are cached before the steps at which the time is taken, each with the number of steps that it stands for.
std::vector<std::pair<std::int64_t, double>> sampled_steps(const InferenceTask& task) {
  const std::int64_t steps = task.new_tokens - 1;
  const auto weight = static_cast<double>(steps);
  if (steps < 1) return {};
  if (steps < 3) return {{task.prompt, weight / 2}, {task.prompt + steps - 1, weight / 2}};
  return {{task.prompt, weight / 6}, {task.prompt + (steps - 1) / 2, weight * 4 / 6}, {task.prompt + steps - 1, weight / 6}};
}

void add_busy(InferenceTime& time, const Platform& platform, const PassTime& pass, double times) {
  time.queues.resize(platform.queues.size());
  for (std::size_t q = 0; q < platform.queues.size(); ++q) {
    time.queues[q].name = platform.queues[q].name;
    time.queues[q].seconds += times * pass.busy[q];
  }
}

Result<CostOrigin> weakest(const Plan& plan, const CostModel& costs) {
  CostOrigin origin = CostOrigin::kMeasured;
  const Processor& gpu = plan.platform.at(plan.platform.at(*plan.platform.queue("compute")).processor);
  for (const Kernel& kernel : plan.kernels) {
    const auto cost = costs.kernel(gpu, kernel);
    if (cost) origin = std::max(origin, cost->origin);
  }
  return origin;
}

/// The sum of an estimate over all passes.
Result<double> over_passes(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform,
                           const std::function<double(const Plan&)>& estimate) {
  double sum = estimate(write_pass(task, policy, platform, 0));
  for (const auto& [cached, times] : sampled_steps(task))
    sum += times * estimate(write_pass(task, policy, platform, cached));
  return sum;
}

double nominal_flops(const Processor& processor, DType type) {
  const double matrix = type == DType::kFp16 ? processor.fp16_flops : type == DType::kBf16 ? processor.bf16_flops : 0;
  return std::max(matrix, processor.fp32_flops);
}

double least_seconds(const Plan& plan, const Instruction& instruction) {
  const Platform& platform = plan.platform;
  if (instruction.kind == InstructionKind::kLaunch) {
    const Processor& processor = platform.at(platform.at(instruction.queue).processor);
    const KernelWork work = work_of(plan.at(instruction.kernel));
    const double rate = nominal_flops(processor, plan.at(instruction.kernel).dtype);
    return std::max(rate > 0 ? work.flops / rate : 0.0, work.bytes / processor.bytes_per_second);
  }
  if (instruction.use_count < 2) return 0;
  const InstructionList& list = plan.blocks.front().list;
  const Use& from = list.uses[instruction.first_use];
  const auto link =
      platform.link(plan.buffers[from.target].space, plan.buffers[list.uses[instruction.first_use + 1].target].space);
  return link ? static_cast<double>(from.bytes.count) / platform.at(*link).bytes_per_second : 0;
}

double least_seconds(const Plan& plan) {
  std::vector<double> by_queue(plan.platform.queues.size());
  for (const Instruction& instruction : plan.blocks.front().list.instructions) {
    by_queue[instruction.queue.index] += least_seconds(plan, instruction);
  }
  return *std::max_element(by_queue.begin(), by_queue.end());
}

}  // namespace

Result<double> pass_seconds(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform,
                            const CostModel& costs, std::int64_t cached) {
  const auto trace =
      simulate(write_pass(task, policy, platform, cached), "step", costs, {.steps = 1, .keep_events = false});
  if (!trace) return fail(trace.error());
  return to_seconds(trace->steps.front().duration());
}

Result<InferenceTime> predict_inference(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform,
                                        const CostModel& costs) {
  InferenceTime time;
  const Plan prefill = write_pass(task, policy, platform, 0);
  const auto first = time_pass(prefill, costs);
  if (!first) return fail(first.error());
  time.prefill_seconds = first->seconds;
  add_busy(time, prefill.platform, *first, 1);
  const auto origin = weakest(prefill, costs);
  if (!origin) return fail(origin.error());
  time.origin = *origin;
  for (const auto& [cached, times] : sampled_steps(task)) {
    const auto step = time_pass(write_pass(task, policy, platform, cached), costs);
    if (!step) return fail(step.error());
    time.decode_seconds += times * step->seconds;
    add_busy(time, prefill.platform, *step, times);
    if (time.first_token_step == 0) time.first_token_step = step->seconds;
    time.last_token_step = step->seconds;
  }
  std::stable_sort(time.queues.begin(), time.queues.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return time;
}

Result<double> inference_bound(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform) {
  return over_passes(task, policy, platform, [](const Plan& plan) { return least_seconds(plan); });
}

}  // namespace plimsoll
