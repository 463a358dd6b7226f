#include "sim/inference/search_policy.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

constexpr std::int64_t kMostBatches = 32;
constexpr double kCacheShares[] = {1, 0.75, 0.5, 0.25, 0};
constexpr double kWholePercents = 100;

Bytes usable(const Platform& platform, SpaceKind kind) {
  const auto space = platform.space(kind);
  return space ? platform.at(*space).usable : Bytes(0);
}

/// Finds shares for one choice of batches, cache on the device and attention.
class Placer {
 public:
  Placer(const InferenceTask& task, const Platform& platform, OffloadPolicy policy)
      : task_(task), platform_(platform), policy_(policy) {}

  std::optional<OffloadPolicy> place(bool cache_first) {
    policy_.weights = {0, 0};
    policy_.cache.cpu = 0;
    policy_.activations = {1, 0};
    if (!room(SpaceKind::kDevice)) policy_.activations = {0, 1};
    if (!room(SpaceKind::kDevice)) return std::nullopt;
    policy_.weights.gpu = largest(policy_.weights.gpu, 1, SpaceKind::kDevice);
    if (cache_first) fill_cache();
    policy_.weights.cpu = largest(policy_.weights.cpu, 1 - policy_.weights.gpu, SpaceKind::kHost);
    if (!cache_first) fill_cache();
    return fits(inference_memory(task_, policy_), platform_) ? std::optional(policy_) : std::nullopt;
  }

  /// Where nothing fits: as many weights on the device as go there, and all else in the lowest memory that there is.
  OffloadPolicy place_anyway() {
    const double host = platform_.space(SpaceKind::kSsd) ? 0 : 1;
    policy_.cache = policy_.weights = {0, host};
    policy_.activations = {0, 1};
    if (room(SpaceKind::kDevice)) policy_.weights.gpu = largest(policy_.weights.gpu, 1, SpaceKind::kDevice);
    policy_.weights.cpu = host * (1 - policy_.weights.gpu);
    return policy_;
  }

 private:
  void fill_cache() { policy_.cache.cpu = largest(policy_.cache.cpu, 1 - policy_.cache.gpu, SpaceKind::kHost); }

  [[nodiscard]] Bytes needed(SpaceKind kind) const { return inference_memory(task_, policy_).at(kind).total(); }
  [[nodiscard]] bool room(SpaceKind kind) const { return needed(kind) <= usable(platform_, kind); }

  /// The largest share up to `most`, in whole percents below it, with which that memory is large enough; 0 where none is.
  double largest(double& share, double most, SpaceKind kind) {
    const Bytes limit = usable(platform_, kind);
    share = 0;
    const auto least = static_cast<double>(needed(kind).count);
    share = most;
    const auto whole = static_cast<double>(needed(kind).count);
    if (whole <= static_cast<double>(limit.count)) return most;
    if (least > static_cast<double>(limit.count)) return 0;
    const double solved = most * (static_cast<double>(limit.count) - least) / (whole - least);
    return std::floor(kWholePercents * solved) / kWholePercents;
  }

  const InferenceTask& task_;
  const Platform& platform_;
  OffloadPolicy policy_;
};

/// The prompt's pass and a step in the middle, with few layers.
Result<double> shortened_seconds(InferenceTask task, std::int64_t layers, const OffloadPolicy& policy, const Platform& platform,
                                 const CostModel& costs) {
  task.spec.layers = layers;
  const auto prefill = pass_seconds(task, policy, platform, costs, 0);
  if (!prefill || task.new_tokens < 2) return prefill;
  const auto step = pass_seconds(task, policy, platform, costs, task.prompt + task.new_tokens / 2);
  if (!step) return step;
  return *prefill + static_cast<double>(task.new_tokens - 1) * *step;
}

/// Every further period of blocks takes as long as the one before it.
Result<double> estimate(const InferenceTask& task, const OffloadPolicy& policy, const Platform& platform,
                        const CostModel& costs) {
  constexpr std::int64_t kFew = 2;
  const std::int64_t more = kFew * block_period(task.spec);
  const std::int64_t few = first_of_each_kind(task.spec) - block_period(task.spec) + more;
  if (task.spec.layers <= few + more) return shortened_seconds(task, task.spec.layers, policy, platform, costs);
  const auto small = shortened_seconds(task, few, policy, platform, costs);
  if (!small) return small;
  const auto large = shortened_seconds(task, few + more, policy, platform, costs);
  if (!large) return large;
  return *small + static_cast<double>(task.spec.layers - few) / static_cast<double>(more) * (*large - *small);
}

std::vector<std::int64_t> gpu_batches(const InferenceTask& task, const PolicyWishes& wishes) {
  if (wishes.gpu_batch) return {*wishes.gpu_batch};
  std::vector<std::int64_t> batches;
  for (std::int64_t count = 1; count <= std::min(kMostBatches, task.sequences); ++count) {
    if (task.sequences % count == 0) batches.push_back(task.sequences / count);
  }
  return batches;
}

/// All that fit, each once.
std::vector<OffloadPolicy> candidates(const InferenceTask& task, const PolicyWishes& wishes, const Platform& platform) {
  std::vector<OffloadPolicy> found;
  OffloadPolicy policy = wishes.fixed;
  for (const std::int64_t gpu_batch : gpu_batches(task, wishes)) {
    policy.gpu_batch = gpu_batch;
    policy.batches = task.sequences / gpu_batch;
    for (const double share : kCacheShares) {
      policy.cache.gpu = share;
      for (const bool attends : {false, true}) {
        if (wishes.cpu_attention ? attends != *wishes.cpu_attention : attends && share == 1) continue;
        policy.cpu_attention = attends;
        for (const bool cache_first : {false, true}) {
          const auto placed = Placer(task, platform, policy).place(cache_first);
          if (placed && std::find(found.begin(), found.end(), *placed) == found.end()) found.push_back(*placed);
        }
      }
    }
  }
  return found;
}

/// The one placement of transformers' modules: all else on the device, but what the CPU is to attend to under hooks. These have all
/// weights in host memory; Accelerate leaves there, or on the drive, what the device has no room for.
OffloadPolicy policy_of_modules(const InferenceTask& task, const PolicyWishes& wishes, const Platform& platform) {
  OffloadPolicy policy = wishes.fixed;
  policy.gpu_batch = wishes.gpu_batch.value_or(task.sequences);
  policy.batches = task.sequences / policy.gpu_batch;
  policy.weights = {0, 1};
  const bool hooked = has_fetching_hooks(policy.program);
  if (hooked && policy.cpu_attention) policy.cache = {0, 1};
  if (hooked) return policy;
  const auto placed = Placer(task, platform, policy).place(false);
  return placed && placed->activations == TierShares{} ? *placed : policy;
}

/// In the smallest batches that are tried.
OffloadPolicy nearest(const InferenceTask& task, const PolicyWishes& wishes, const Platform& platform) {
  OffloadPolicy policy = wishes.fixed;
  policy.gpu_batch = gpu_batches(task, wishes).back();
  policy.batches = task.sequences / policy.gpu_batch;
  return Placer(task, platform, policy).place_anyway();
}

}  // namespace

Result<std::vector<WeighedPolicy>> search_policies(const InferenceTask& task, const PolicyWishes& wishes,
                                                   const Platform& platform, const CostModel& costs) {
  if (const auto sizes = validate(task); !sizes) return fail(sizes.error());
  std::vector<OffloadPolicy> policies;
  if (wishes.exact) policies.push_back(*wishes.exact);
  const bool modules = runs_transformers(wishes.fixed.program);
  if (!wishes.exact && modules) policies.push_back(policy_of_modules(task, wishes, platform));
  if (!wishes.exact && !modules) policies = candidates(task, wishes, platform);
  if (policies.empty()) policies.push_back(nearest(task, wishes, platform));
  std::vector<WeighedPolicy> weighed;
  for (const OffloadPolicy& policy : policies) {
    if (const auto valid = validate(task, policy); !valid) return fail(valid.error());
    WeighedPolicy one{.policy = policy, .memory = inference_memory(task, policy)};
    one.fits = fits(one.memory, platform);
    const auto seconds = policies.size() > 1 ? estimate(task, policy, platform, costs) : Result<double>(0.0);
    if (!seconds) return fail(seconds.error());
    one.estimated_seconds = *seconds;
    weighed.push_back(one);
  }
  std::stable_sort(weighed.begin(), weighed.end(),
                   [](const WeighedPolicy& a, const WeighedPolicy& b) { return a.estimated_seconds < b.estimated_seconds; });
  return weighed;
}

}  // namespace plimsoll
