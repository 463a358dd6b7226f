#pragma once

#include <cstdint>
#include <vector>

#include "core/inference/inference_graph.h"
#include "sim/inference/offload_policy.h"

namespace plimsoll {

/// What is asked of a decoder: prompts and what is written behind them.
struct InferenceTask {
  ModelSpec spec;
  std::int64_t prompt = 512;     ///< tokens of each sequence
  std::int64_t new_tokens = 32;  ///< the prompt's pass writes the first one
  std::int64_t sequences = 1;
  Precision precision = Precision::kFp16Mixed;

  [[nodiscard]] DType type() const { return compute_dtype(precision); }
  /// Tokens whose keys and values are held in the end: those of the last one are never read.
  [[nodiscard]] std::int64_t held_tokens() const { return prompt + new_tokens - 1; }
};

/// Bytes of the weights as they are kept: matrices of blocks coded, all else as compute reads it.
struct StoredWeights {
  std::vector<Bytes> blocks;  ///< by layer
  Bytes ends;                 ///< embeddings and head
  Bytes largest_block;
  Bytes largest_matrix;  ///< decoded

  [[nodiscard]] Bytes total() const;
};

StoredWeights store_weights(const ModelSpec& spec, DType type, GroupCode code);

/// After how many blocks their kinds come again: experts or none, with a window or none.
std::int64_t block_period(const ModelSpec& spec);
/// So many blocks from the first on have one of each kind among them.
std::int64_t first_of_each_kind(const ModelSpec& spec);

/// Rounds of a pass, one for each batch and block, that are simulated at most; a pass of so many takes about a second.
inline constexpr std::int64_t kMostRounds = 100'000;

/// Checks sizes against the model.
Result<void> validate(const InferenceTask& task);

/// And the policy's batches against them.
Result<void> validate(const InferenceTask& task, const OffloadPolicy& policy);

}  // namespace plimsoll
