#include "sim/inference/inference_memory.h"

#include <algorithm>

#include "core/inference/kv_cache.h"
#include "core/inference/live_bytes.h"
#include "sim/inference/parameter_fetches.h"
#include "sim/inference/share_of.h"

namespace plimsoll {
namespace {

/// The three parts of `whole`; they add up to it.
void spread(InferenceMemory& memory, Bytes InferenceBytes::*what, Bytes whole, const TierShares& shares) {
  const Bytes gpu = share_of(whole, shares.gpu);
  const Bytes ssd = share_of(whole, shares.ssd());
  memory.at(SpaceKind::kDevice).*what += gpu;
  memory.at(SpaceKind::kSsd).*what += ssd;
  memory.at(SpaceKind::kHost).*what += whole - gpu - ssd;
}

/// The cache of one batch and one block.
Bytes cache_of_layer(const InferenceTask& task, const OffloadPolicy& policy, GroupCode code) {
  return policy.gpu_batch * most_cached_tokens(task.spec, task.held_tokens()) *
         code.bytes_of(kv_numbers_per_block(task.spec), task.type());
}

void add_weight_buffers(InferenceMemory& memory, const OffloadPolicy& policy, const StoredWeights& weights) {
  const double away = 1 - policy.weights.gpu;
  if (away > 0) memory.at(SpaceKind::kDevice).workspace += share_of(2 * weights.largest_block, away);
  if (policy.weights.ssd() > 0)
    memory.at(SpaceKind::kHost).workspace += share_of(2 * weights.largest_block, policy.weights.ssd());
  if (policy.weight_code.exists()) memory.at(SpaceKind::kDevice).workspace += weights.largest_matrix;
}

/// What hooks keep on the device: parameters up to their limit and the fetch that passes it, and, where that is gathered, its
/// copy from host memory and its buffer.
void add_fetched(InferenceMemory& memory, const InferenceTask& task, const OffloadPolicy& policy) {
  const FetchRules rules = fetch_rules(policy.program, task.spec);
  const HookedModules modules = hooked_modules(task.spec);
  std::int64_t all = 0;
  std::int64_t largest = 0;
  for (const std::int64_t elements : modules.elements) {
    all += elements;
    largest = std::max(largest, elements);
  }
  const std::int64_t copies = policy.program == ServingProgram::kGatheringZero ? 2 : 0;
  const std::int64_t held = std::min(all, rules.live + largest) + copies * largest;
  memory.at(SpaceKind::kDevice).workspace += Bytes(held * size_of(task.type()));
}

void add_cache_buffers(InferenceMemory& memory, const InferenceTask& task, const OffloadPolicy& policy) {
  const Bytes layer = cache_of_layer(task, policy, policy.cache_code);
  const double away = 1 - policy.cache.gpu;
  if (away > 0 && !policy.cpu_attention) memory.at(SpaceKind::kDevice).workspace += share_of(2 * layer, away);
  if (policy.cache.ssd() > 0) memory.at(SpaceKind::kHost).workspace += share_of(2 * layer, policy.cache.ssd());
  const Bytes wide = cache_of_layer(task, policy, {});
  // A token's cache is joined anew: a block's old one is there beside it.
  if (runs_transformers(policy.program)) memory.at(SpaceKind::kDevice).workspace += share_of(wide, policy.cache.gpu);
  if (policy.cache_code.exists() && !policy.cpu_attention) memory.at(SpaceKind::kDevice).workspace += wide;
  if (policy.cpu_attention && away > 0)
    memory.at(SpaceKind::kHost).workspace += share_of(4 * Bytes(wide.count / size_of(task.type())), away);
}

}  // namespace

InferenceMemory inference_memory(const InferenceTask& task, const OffloadPolicy& policy) {
  InferenceMemory memory;
  const StoredWeights weights = store_weights(task.spec, task.type(), policy.weight_code);
  spread(memory, &InferenceBytes::weights, weights.total(), policy.weights);
  const Bytes cache = kv_cache_bytes(task.spec, policy.sequences(), task.held_tokens(), task.type(), policy.cache_code);
  spread(memory, &InferenceBytes::cache, cache, policy.cache);
  const Bytes between(policy.sequences() * task.prompt * task.spec.hidden * size_of(task.type()));
  if (policy.batches > 1 || policy.activations.gpu < 1) spread(memory, &InferenceBytes::activations, between, policy.activations);
  // A block of each kind and the ends: what a pass holds at once does not grow with the number of blocks.
  ModelSpec one = task.spec;
  one.layers = std::min(task.spec.layers, first_of_each_kind(task.spec));
  const InferencePass prefill{.sequences = policy.gpu_batch, .new_tokens = task.prompt, .precision = task.precision,
                              .all_logits = runs_transformers(policy.program)};
  memory.at(SpaceKind::kDevice).activations += peak_live_bytes(build_inference_graph(one, prefill));
  if (policy.is_hooked()) add_fetched(memory, task, policy);
  if (!policy.is_hooked()) add_weight_buffers(memory, policy, weights);
  add_cache_buffers(memory, task, policy);
  return memory;
}

bool fits(const InferenceMemory& memory, const Platform& platform) {
  for (const SpaceKind kind : {SpaceKind::kDevice, SpaceKind::kHost, SpaceKind::kSsd}) {
    const Bytes needed = memory.at(kind).total();
    const auto space = platform.space(kind);
    if (needed > Bytes(0) && (!space || needed > platform.at(*space).usable)) return false;
  }
  return true;
}

}  // namespace plimsoll
