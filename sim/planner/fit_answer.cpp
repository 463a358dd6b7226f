#include "sim/planner/fit_answer.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/graph/op_work.h"
#include "core/model/stored_group.h"
#include "core/plan/expand.h"
#include "sim/memory/process_need.h"
#include "sim/planner/parallel_for.h"
#include "sim/planner/rejected_families.h"
#include "sim/planner/smaller_batch.h"

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
    const bool holds_program = answer.certain && plan.platform.at(need.space).kind == SpaceKind::kHost;
    if (holds_program) answer.peak_process += process_need(plan, 0).program;
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

/// Bytes that a step moves from or to a drive; those that a guard may skip count by its chance.
Bytes drive_bytes(const Plan& plan, InstructionKind kind, double guard_chance) {
  const FlatBody body = expand(plan, *plan.body("step"));
  double bytes = 0;
  for (const Instruction& instruction : body.list.instructions) {
    if (instruction.kind != kind) continue;
    const double chance = instruction.guard == kNoGuard ? 1 : guard_chance;
    bytes += chance * static_cast<double>(body.uses(instruction).front().bytes.count);
  }
  return Bytes(std::llround(bytes));
}

void add_loads(FitAnswer& answer, const Plan& plan, const Prediction& prediction) {
  for (const QueueLoad& load : prediction.queues) answer.loads.push_back({plan.platform.at(load.queue).name, load.busy_fraction});
  const double chance = prediction.guarded ? prediction.guarded->probability : 1;
  answer.drive_read = drive_bytes(plan, InstructionKind::kRead, chance);
  answer.drive_written = drive_bytes(plan, InstructionKind::kWrite, chance);
}

/// Gradients, and what the optimizer keeps beside the weights that compute reads, for each parameter that is trained.
Bytes training_bytes(const Plan& plan, std::int64_t trained) {
  const bool mixed = has_master_copy(plan.recipe.precision);
  Bytes bytes(trained * size_of(compute_dtype(plan.recipe.precision)));
  for (const StateBinding& state : plan.state) {
    const bool kept = state.kind != TensorKind::kParameter && (state.kind != TensorKind::kMaster || mixed);
    if (kept) bytes += plan.at(state.buffer).bytes;
  }
  return bytes;
}

std::optional<AdapterAnswer> adapter_answer(const Plan& plan) {
  if (!plan.recipe.adapter.exists()) return std::nullopt;
  const DType compute = compute_dtype(plan.recipe.precision);
  const ParameterLayout layout = lay_out_parameters(plan.spec, plan.recipe.adapter);
  AdapterAnswer answer{.adapter = plan.recipe.adapter, .trained_parameters = layout.trained_elements()};
  answer.training = training_bytes(plan, answer.trained_parameters);
  const std::int64_t all = parameter_count(plan.spec);
  answer.whole_training = Bytes(std::llround(static_cast<double>(answer.training.count) * static_cast<double>(all) /
                                             static_cast<double>(answer.trained_parameters)));
  for (const ParameterGroup& group : layout.groups) answer.base += group.frozen ? stored_bytes(group, compute) : Bytes(0);
  answer.whole_base = Bytes(all * size_of(compute));
  return answer;
}

FitAnswer described(const ModelSpec& spec, const Strategy& strategy, const std::string& calibration_source) {
  FitAnswer answer;
  answer.model = spec.name;
  answer.parameters = parameter_count(spec);
  answer.active_parameters = active_parameter_count(spec);
  answer.strategy = strategy;
  answer.calibration_source = calibration_source;
  return answer;
}

void add_alternatives(FitAnswer& answer, const SearchProblem& problem, const std::vector<RejectedFamily>& rejected) {
  for (const RejectedFamily& family : rejected) {
    AlternativeAnswer other{.strategy = family.strategy.name, .step_seconds = to_seconds(family.step), .choices = family.strategy};
    other.slower_seconds = other.step_seconds - answer.step_seconds;
    other.limited_by = problem.platform.at(family.busiest.queue).name;
    other.busy_fraction = family.busiest.busy_fraction;
    for (const SpaceNeed& need : family.needs) {
      const MemorySpace& space = problem.platform.at(need.space);
      if (space.kind == SpaceKind::kDevice && other.peak.count == 0) other.peak = need.needed;
      if (!need.fits()) other.short_of.push_back({space.name, need.needed, need.usable});
    }
    answer.alternatives.push_back(std::move(other));
  }
}

/// The plan that the search came to, or where nothing fits the nearest one with what it would take.
struct Outlook {
  Plan plan;
  Prediction prediction;
};

/// The search has asked for exact addresses where it may: what is missing is told of the others.
Result<Outlook> nearest(const SearchResult& search, const SearchProblem& problem) {
  auto plan = lower_to_plan(problem.spec, problem.recipe, problem.platform, search.candidates.front().strategy,
                            {.quick_addresses = true, .packings = problem.packings.get()});
  if (!plan) return fail(plan.error());
  auto prediction = predict(*plan, problem.costs);
  if (!prediction) return fail(prediction.error());
  return Outlook{std::move(*plan), std::move(*prediction)};
}

/// What is told beside the search's own plan.
struct Beside {
  std::optional<Result<Outlook>> nearest;  ///< where the search has no plan
  std::optional<Result<std::vector<RejectedFamily>>> rejected;
};

/// All of it takes whole plans, which are looked at side by side.
Beside look_beside(const SearchResult& search, const SearchProblem& problem, bool alternatives) {
  Beside beside;
  const auto look = [&](std::size_t which) {
    if (which == 0 && !search.plan) beside.nearest = nearest(search, problem);
    if (which == 1 && alternatives) beside.rejected = rejected_families(problem, search);
  };
  parallel_for(2, look);
  return beside;
}

}  // namespace

double model_flops_of_step(const ModelSpec& spec, const Recipe& recipe) {
  double flops = 0;
  for (const Op& op : build_training_graph(spec, recipe).ops) {
    const bool product = op.kind == OpKind::kLinear || op.kind == OpKind::kLinearBackwardInput ||
                         op.kind == OpKind::kLinearBackwardWeight || attends_forward(op.kind) ||
                         op.kind == OpKind::kExpertLinear || op.kind == OpKind::kExpertLinearBackwardInput ||
                         op.kind == OpKind::kExpertLinearBackwardWeight;
    // Attention's backward pass counts twice its forward pass: recomputing the scores is not model arithmetic.
    if (product) flops += flops_of(op.kind, op.shape) * (attends_forward(op.kind) ? 3.0 : 1.0);
  }
  return flops * static_cast<double>(recipe.accumulate);
}

FitAnswer fit_answer(const Plan& plan, const Prediction& prediction, const LowerBound& bound, std::string calibration_source) {
  FitAnswer answer = described(plan.spec, plan.strategy, calibration_source);
  answer.adapter = adapter_answer(plan);
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
  if (const auto& steps = prediction.guarded) {
    answer.redo = {steps->probability, to_seconds(steps->skipped), to_seconds(steps->run)};
  }
  answer.memory = memory_of(plan, prediction.trace);
  answer.bottleneck = plan.platform.at(prediction.queues.front().queue).name;
  answer.bottleneck_busy_fraction = prediction.queues.front().busy_fraction;
  add_loads(answer, plan, prediction);
  answer.calibration_kind = to_text(prediction.origin);
  answer.lower_bound_seconds = to_seconds(bound.step);
  answer.lower_bound_peak = bound.device;
  return answer;
}

Result<FitAnswer> fit_answer(const SearchResult& search, const SearchProblem& problem, bool alternatives) {
  if (search.candidates.empty()) return fail({.kind = ErrorKind::kInput, .what = "no strategy was left to look at"});
  Beside beside = look_beside(search, problem, alternatives);
  if (beside.nearest && !*beside.nearest) return fail(beside.nearest->error());
  const Plan& plan = search.plan ? *search.plan : (*beside.nearest)->plan;
  const Prediction& prediction = search.plan ? *search.prediction : (*beside.nearest)->prediction;
  const auto bound = lower_bound(plan, problem.costs, problem.odds);
  if (!bound) return fail(bound.error());
  FitAnswer answer = fit_answer(plan, prediction, *bound, problem.costs.source());
  if (!alternatives) return answer;
  if (!*beside.rejected) return fail(beside.rejected->error());
  add_alternatives(answer, problem, **beside.rejected);
  if (search.plan) return answer;
  const auto smaller = smaller_batch(problem);
  if (!smaller) return fail(smaller.error());
  if (*smaller) answer.smaller.push_back(**smaller);
  return answer;
}

}  // namespace plimsoll
