#include "sim/planner/fit_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_work.h"
#include "core/plan/expand.h"

namespace plimsoll {
namespace {

Bytes& share(SpaceAnswer::ByCategory& by, TensorKind kind) {
  switch (kind) {
    case TensorKind::kParameter: return by.parameters;
    case TensorKind::kGradient:
    case TensorKind::kAccumulator: return by.gradients;
    case TensorKind::kMaster:
    case TensorKind::kFirstMoment:
    case TensorKind::kSecondMoment: return by.optimizer;
    case TensorKind::kWorkspace: return by.workspace;
    case TensorKind::kTokens:
    case TensorKind::kActivation:
    case TensorKind::kActivationGradient:
    case TensorKind::kScalar: return by.activations;
  }
  return by.activations;
}

SpaceAnswer space_answer(const Platform& platform, const SpaceNeed& need) {
  const MemorySpace& space = platform.at(need.space);
  SpaceAnswer answer{.space = space.name, .capacity = space.capacity, .usable = space.usable, .peak = need.needed};
  answer.peak_reserved = need.needed;  // arenas are reserved whole, before the first step
  answer.by_category.framework = space.capacity - space.usable;
  answer.peak_process = need.needed + answer.by_category.framework;
  return answer;
}

std::vector<SpaceAnswer> memory_of(const Plan& plan, const Trace& trace) {
  std::vector<SpaceAnswer> spaces;
  for (const SpaceNeed& need : space_needs(plan)) {
    SpaceAnswer answer = space_answer(plan.platform, need);
    for (const SpacePeak& peak : trace.peaks) {
      if (peak.space != need.space) continue;
      for (const auto& [kind, bytes] : peak.by_category) {
        share(answer.by_category, kind) += bytes;
        answer.peak_allocated += bytes;
      }
    }
    answer.certain = plan.platform.processors[0].kind == ProcessorKind::kCpu;  // no context or driver beside the arena
    spaces.push_back(answer);
  }
  return spaces;
}

double hardware_flops(const Plan& plan) {
  const FlatBody body = expand(plan, *plan.body("step"));
  const auto compute = plan.platform.queue("compute");
  double flops = 0;
  for (const Instruction& instruction : body.list.instructions) {
    if (instruction.kind != InstructionKind::kLaunch || instruction.queue != *compute) continue;
    const Kernel& kernel = plan.at(instruction.kernel);
    flops += flops_of(kernel.kind, kernel.shape);
  }
  return flops;
}

FitAnswer described(const ModelSpec& spec, const Strategy& strategy, const std::string& calibration_source) {
  FitAnswer answer;
  answer.model = spec.name;
  answer.parameters = parameter_count(spec);
  answer.strategy = strategy;
  answer.calibration_source = calibration_source;
  return answer;
}

std::string label(const Strategy& strategy) {
  std::string text = strategy.name;
  if (strategy.recompute_every > 0) text += fmt::format(", recompute {}", strategy.recompute_every);
  if (strategy.optimizer != Tier::kDevice && strategy.gradients == Tier::kDevice) text += ", gradients resident";
  return text;
}

void add_alternatives(FitAnswer& answer, const SearchResult& search) {
  for (std::size_t i = 1; i < search.candidates.size(); ++i) {
    const Candidate& other = search.candidates[i];
    if (search.plan && !other.fits()) continue;
    answer.alternatives.push_back({label(other.strategy), other.step ? to_seconds(*other.step) : 0.0, other.needs[0].needed});
  }
}

}  // namespace

double model_flops_of_step(const ModelSpec& spec, const Recipe& recipe) {
  double flops = 0;
  for (const Op& op : build_training_graph(spec, recipe).ops) {
    const bool product = op.kind == OpKind::kLinear || op.kind == OpKind::kLinearBackwardInput ||
                         op.kind == OpKind::kLinearBackwardWeight || op.kind == OpKind::kAttention;
    // Attention's backward pass counts twice its forward pass: recomputing the scores is not model arithmetic.
    if (product) flops += flops_of(op.kind, op.shape) * (op.kind == OpKind::kAttention ? 3.0 : 1.0);
  }
  return flops * static_cast<double>(recipe.accumulate);
}

FitAnswer fit_answer(const Plan& plan, const Prediction& prediction, const LowerBound& bound, std::string calibration_source) {
  FitAnswer answer = described(plan.spec, plan.strategy, calibration_source);
  const double step = to_seconds(prediction.step);
  const auto needs = space_needs(plan);
  answer.fits = std::all_of(needs.begin(), needs.end(), [](const SpaceNeed& need) { return need.fits(); });
  answer.step_seconds = step;
  answer.step_seconds_low = to_seconds(prediction.low);
  answer.step_seconds_high = to_seconds(prediction.high);
  answer.tokens_per_second = static_cast<double>(plan.recipe.tokens_per_step()) / step;
  answer.samples_per_second = static_cast<double>(plan.recipe.micro_batch * plan.recipe.accumulate) / step;
  answer.model_tflops_per_gpu = model_flops_of_step(plan.spec, plan.recipe) / step * 1e-12;
  answer.hardware_tflops_per_gpu = hardware_flops(plan) / step * 1e-12;
  const StepBreakdown& parts = prediction.breakdown;
  answer.phases = {.forward_seconds = to_seconds(parts.at(TimePart::kForward)),
                   .backward_seconds = to_seconds(parts.at(TimePart::kBackward)),
                   .optimizer_seconds = to_seconds(parts.at(TimePart::kOptimizer)),
                   .exposed_transfer_seconds = to_seconds(parts.at(TimePart::kTransfer) + parts.at(TimePart::kStorage))};
  answer.memory = memory_of(plan, prediction.trace);
  answer.bottleneck = plan.platform.at(prediction.queues.front().queue).name;
  answer.bottleneck_busy_fraction = prediction.queues.front().busy_fraction;
  answer.calibration_kind = to_text(prediction.origin);
  answer.lower_bound_seconds = to_seconds(bound.step);
  answer.lower_bound_peak = bound.device;
  return answer;
}

Result<FitAnswer> fit_answer(const SearchResult& search, const ModelSpec& spec, const Recipe& recipe, const Platform& platform,
                             const CostModel& costs) {
  if (search.plan) {
    const auto bound = lower_bound(*search.plan, costs);
    if (!bound) return fail(bound.error());
    FitAnswer answer = fit_answer(*search.plan, *search.prediction, *bound, costs.source());
    add_alternatives(answer, search);
    return answer;
  }
  if (search.candidates.empty()) return fail({.kind = ErrorKind::kInput, .what = "no strategy was left to look at"});
  const Candidate& nearest = search.candidates.front();
  const auto plan = lower_to_plan(spec, recipe, platform, nearest.strategy);
  if (!plan) return fail(plan.error());
  const auto prediction = predict(*plan, costs);
  if (!prediction) return fail(prediction.error());
  const auto bound = lower_bound(*plan, costs);
  if (!bound) return fail(bound.error());
  FitAnswer answer = fit_answer(*plan, *prediction, *bound, costs.source());
  add_alternatives(answer, search);
  return answer;
}

}  // namespace plimsoll
