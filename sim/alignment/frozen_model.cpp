#include "sim/alignment/frozen_model.h"

#include <algorithm>

#include "core/inference/live_bytes.h"
#include "sim/inference/inference_memory.h"
#include "sim/inference/predict_inference.h"

namespace plimsoll {
namespace {

/// The logits of all tokens but the last, which the pass has.
Result<double> further_logits(const InferenceTask& task, std::int64_t passes, std::int64_t micro_batch, const Platform& platform,
                              const CostModel& costs) {
  Kernel head{.kind = OpKind::kLinear, .dtype = task.type()};
  head.shape = {.rows = std::max<std::int64_t>(1, micro_batch * (task.prompt - 1)),
                .inputs = task.spec.hidden,
                .outputs = task.spec.vocabulary};
  const auto cost = costs.kernel(platform.at(platform.at(*platform.queue("compute")).processor), head);
  if (!cost) return fail(cost.error());
  return static_cast<double>(passes) * to_seconds(cost->median);
}

}  // namespace

Bytes frozen_bytes(const ModelSpec& spec, Precision precision) {
  return store_weights(spec, compute_dtype(precision), {}).total();
}

Result<FrozenPass> frozen_pass(const ModelSpec& spec, Precision precision, std::int64_t sequences, std::int64_t micro_batch,
                               std::int64_t length, bool on_device, const Platform& platform, const CostModel& costs) {
  const std::int64_t passes = sequences / micro_batch;
  const InferenceTask task{.spec = spec, .prompt = length, .new_tokens = 1, .sequences = sequences, .precision = precision};
  OffloadPolicy policy{.gpu_batch = micro_batch, .batches = passes};
  policy.weights = on_device ? TierShares{1, 0} : TierShares{0, 1};
  const auto seconds = pass_seconds(task, policy, platform, costs, 0);
  if (!seconds) return fail(seconds.error());
  const auto logits = further_logits(task, passes, micro_batch, platform, costs);
  if (!logits) return fail(logits.error());
  const InferenceBytes held = inference_memory(task, policy).at(SpaceKind::kDevice);
  const Bytes all_logits(micro_batch * length * spec.vocabulary * size_of(task.type()));
  return FrozenPass{*seconds + *logits, held.activations + held.workspace + all_logits};
}

Platform less_memory(Platform platform, Bytes device, Bytes host) {
  for (MemorySpace& space : platform.spaces) {
    const Bytes less = space.kind == SpaceKind::kDevice ? device : space.kind == SpaceKind::kHost ? host : Bytes(0);
    space.usable = std::max(Bytes(1), space.usable - less);
  }
  return platform;
}

}  // namespace plimsoll
