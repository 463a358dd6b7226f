#include "sim/inference/inference_answer.h"

#include <algorithm>

#include "core/inference/kv_cache.h"
#include "core/model/parameters.h"
#include "sim/cost/cost_edge.h"
#include "sim/inference/inference_costs.h"

namespace plimsoll {
namespace {

constexpr std::size_t kAlternatives = 4;

double written(const InferenceTask& task) { return static_cast<double>(task.sequences * task.new_tokens); }

/// Continuous batching: a sequence that ends makes room for another one, so that every new token pays for its share of a
/// prompt's pass; contexts are in the mean half grown.
Result<std::optional<double>> steady_rate(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform,
                                          const CostModel& costs) {
  if (policy.weights.gpu < 1 || policy.cache.gpu < 1 || policy.batches > 1) return std::optional<double>();
  const auto step = pass_seconds(task, policy, platform, costs, task.prompt + task.new_tokens / 2);
  if (!step) return fail(step.error());
  OffloadPolicy single = policy;
  single.gpu_batch = 1;
  const auto prefill = pass_seconds(task, single, platform, costs, 0);
  if (!prefill) return fail(prefill.error());
  const auto sequences = static_cast<double>(task.sequences);
  return std::optional(sequences / (*step + sequences / static_cast<double>(task.new_tokens) * *prefill));
}

std::vector<InferenceSpace> spaces_of(const InferenceMemory& memory, const Platform& platform) {
  std::vector<InferenceSpace> spaces;
  constexpr const char* kNames[] = {"gpu0", "host", "ssd"};
  for (const SpaceKind kind : {SpaceKind::kDevice, SpaceKind::kHost, SpaceKind::kSsd}) {
    const auto space = platform.space(kind);
    if (!space && memory.at(kind).total() == Bytes(0)) continue;
    spaces.push_back({space ? platform.at(*space).name : kNames[static_cast<std::size_t>(kind)], memory.at(kind),
                      space ? platform.at(*space).usable : Bytes(0)});
  }
  return spaces;
}

/// Policies that differ in more than their batches from those told before.
void add_alternatives(InferenceAnswer& answer, const std::vector<WeighedPolicy>& weighed) {
  std::vector<std::pair<double, bool>> told{{answer.policy.cache.gpu, answer.policy.cpu_attention}};
  for (const WeighedPolicy& other : weighed) {
    const std::pair<double, bool> sort{other.policy.cache.gpu, other.policy.cpu_attention};
    if (!other.fits || std::find(told.begin(), told.end(), sort) != told.end() || told.size() > kAlternatives) continue;
    told.push_back(sort);
    answer.alternatives.push_back(
        {other.policy, written(answer.task) / other.estimated_seconds, other.memory.at(SpaceKind::kDevice).total()});
  }
}

/// A plan needs memories that exist; of one that is missing its link's place is taken by nothing.
Result<void> check_memories(const OffloadPolicy& policy, const Platform& platform) {
  const bool needs_drive = policy.weights.ssd() > 0 || policy.cache.ssd() > 0 || policy.activations.ssd() > 0;
  if (!needs_drive || platform.space(SpaceKind::kSsd)) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = "the policy keeps data on an SSD, and the machine has none",
               .where = {},
               .remedy = "describe one with --ssd, or let the percentages of GPU and CPU add up to 100"});
}

}  // namespace

double InferenceAnswer::tokens_per_second() const { return written(task) / time.seconds(); }

Result<InferenceAnswer> answer_inference(const InferenceTask& task, const PolicyWishes& wishes, const Platform& machine,
                                         const CostModel& costs) {
  if (wishes.exact) {
    if (const auto there = check_memories(*wishes.exact, machine); !there) return fail(there.error());
  }
  const Platform platform = with_cpu_rate(machine);
  const InferenceCosts own(costs, platform);
  if (const auto writes = check_writes_tokens(task.spec); !writes) return fail(writes.error());
  const auto weighed = search_policies(task, wishes, platform, own);
  if (!weighed) return fail(weighed.error());
  const WeighedPolicy& best = weighed->front();
  InferenceAnswer answer{.fits = best.fits, .task = task, .policy = best.policy, .parameters = parameter_count(task.spec)};
  answer.weight_bytes = store_weights(task.spec, task.type(), best.policy.weight_code).total();
  answer.cache_bytes_per_token = kv_bytes_per_token(task.spec, task.type(), best.policy.cache_code);
  answer.memory = spaces_of(best.memory, platform);
  const auto time = predict_inference(task, best.policy, platform, own);
  const auto low = predict_inference(task, best.policy, platform, CostEdge(own, CostEdge::kLow));
  const auto high = predict_inference(task, best.policy, platform, CostEdge(own, CostEdge::kHigh));
  const auto bound = inference_bound(task, best.policy, platform);
  const auto steady = steady_rate(task, best.policy, platform, own);
  for (const auto* result : {&time, &low, &high}) {
    if (!*result) return fail(result->error());
  }
  if (!bound) return fail(bound.error());
  if (!steady) return fail(steady.error());
  answer.time = *time;
  answer.seconds_low = low->seconds();
  answer.seconds_high = high->seconds();
  answer.bound_seconds = *bound;
  answer.steady_tokens_per_second = *steady;
  answer.source = costs.source();
  add_alternatives(answer, *weighed);
  return answer;
}

}  // namespace plimsoll
