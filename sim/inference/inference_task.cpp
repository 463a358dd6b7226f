#include "sim/inference/inference_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// What a program of hooks cannot do, or what is not known of it.
Result<void> check_hooks(const InferenceTask& task, const OffloadPolicy& policy) {
  const std::string name(to_text(policy.program));
  if (task.spec.experts.count > 0 || task.spec.latent.exists())
    return refuse(fmt::format("the modules of {} are not known under {}", task.spec.name, name),
                  "choose a decoder without experts and latent attention, or leave --program out");
  if (policy.batches > 1 || policy.weights.gpu > 0 || policy.activations != TierShares{} || !policy.overlap)
    return refuse(name + " takes one batch, keeps no weights on the device and activations nowhere else, and copies when it does",
                  "give --percent 0,100,100,0,100,0, and neither --gpu-batch nor --no-overlap");
  if (policy.weight_code.exists() || policy.cache_code.exists())
    return refuse("codes are not known of " + name, "leave --weight-bits and --cache-bits out");
  if (policy.cache.gpu < 1 && (!policy.cpu_attention || policy.cache.ssd() > 0))
    return refuse(name + " keeps the cache on the device, or in host memory, where the CPU attends",
                  "add --cpu-attention yes, or give --percent 0,100,100,0,100,0");
  return {};
}

/// Weights may wait anywhere; the modules' own code knows one batch and no cache beside the device's.
Result<void> check_dispatched(const OffloadPolicy& policy) {
  const std::string name(to_text(policy.program));
  if (policy.batches > 1 || policy.cache.gpu < 1 || policy.activations != TierShares{})
    return refuse(name + " takes one batch, and keeps cache and activations on the device",
                  "leave --gpu-batch out, and --percent or its last four numbers 100,0,100,0");
  if (policy.weight_code.exists() || policy.cache_code.exists())
    return refuse("codes are not known of " + name, "leave --weight-bits and --cache-bits out");
  return {};
}

Bytes stored(const ParameterTensor& tensor, DType type, GroupCode code) {
  return (tensor.rows > 1 ? code : GroupCode{}).bytes_of(tensor.elements(), type);
}

}  // namespace

Bytes StoredWeights::total() const {
  Bytes sum = ends;
  for (const Bytes& block : blocks) sum += block;
  return sum;
}

StoredWeights store_weights(const ModelSpec& spec, DType type, GroupCode code) {
  StoredWeights weights;
  for (const ParameterGroup& group : lay_out_parameters(spec).groups) {
    if (group.block < 0) {
      weights.ends += Bytes(group.elements * size_of(type));
      continue;
    }
    Bytes block;
    for (const ParameterTensor& tensor : group.tensors) {
      block += stored(tensor, type, code);
      weights.largest_matrix = std::max(weights.largest_matrix, Bytes(tensor.elements() * size_of(type)));
    }
    weights.blocks.push_back(block);
    weights.largest_block = std::max(weights.largest_block, block);
  }
  return weights;
}

std::int64_t block_period(const ModelSpec& spec) {
  const std::int64_t of_experts = spec.experts.count > 0 ? spec.experts.every : 1;
  const std::int64_t of_windows = spec.window > 0 && spec.full_every > 0 ? spec.full_every : 1;
  return std::lcm(of_experts, of_windows);
}

std::int64_t first_of_each_kind(const ModelSpec& spec) {
  return (spec.experts.count > 0 ? spec.experts.dense_first : 0) + block_period(spec);
}

Result<void> validate(const InferenceTask& task) {
  if (const auto writes = check_writes_tokens(task.spec); !writes) return writes;
  if (task.prompt < 1 || task.new_tokens < 1 || task.sequences < 1) {
    return refuse("prompts, new tokens and sequences are at least 1", "see --prompt, --new-tokens and --batch");
  }
  const std::int64_t length = task.prompt + task.new_tokens;
  if (length > task.spec.max_positions) {
    return refuse(fmt::format("{} + {} tokens are more than the {} positions of {}", task.prompt, task.new_tokens,
                              task.spec.max_positions, task.spec.name),
                  "shorten --prompt or --new-tokens");
  }
  return {};
}

Result<void> validate(const InferenceTask& task, const OffloadPolicy& policy) {
  if (auto sizes = validate(task); !sizes) return sizes;
  if (policy.gpu_batch < 1 || policy.sequences() != task.sequences) {
    return refuse(fmt::format("{} sequences are not whole batches of {}", task.sequences, policy.gpu_batch),
                  "choose a --gpu-batch that divides --batch");
  }
  const std::int64_t batches = task.sequences / policy.gpu_batch;
  if (batches > kMostRounds / task.spec.layers) {
    return refuse(fmt::format("{} batches of {} through {} blocks are too many rounds: {} are simulated at most",
                              batches, policy.gpu_batch, task.spec.layers, kMostRounds),
                  "choose a larger --gpu-batch, or fewer sequences: what one batch more takes is the same for all");
  }
  if (has_fetching_hooks(policy.program)) return check_hooks(task, policy);
  if (policy.program == ServingProgram::kAccelerate) return check_dispatched(policy);
  return {};
}

}  // namespace plimsoll
