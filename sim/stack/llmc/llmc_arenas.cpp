#include "sim/stack/llmc/llmc_arenas.h"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr std::int64_t kVocabularyStep = 128;

std::int64_t padded_vocabulary(const ModelSpec& spec) { return (spec.vocabulary + kVocabularyStep - 1) / kVocabularyStep * kVocabularyStep; }

std::int64_t parameters_of(const ModelSpec& spec) {
  const std::int64_t c = spec.hidden;
  return padded_vocabulary(spec) * c + spec.max_positions * c + spec.layers * (12 * c * c + 13 * c) + 2 * c;
}

std::int64_t element_size(const Recipe& recipe) { return recipe.precision == Precision::kFp32 ? 4 : 2; }

/// Elements of the buffer that holds logits, gradients of queries, keys and values, or scores, one after the other.
std::int64_t output_width(const ModelSpec& spec, const Recipe& recipe) {
  return std::max({3 * spec.hidden, spec.heads * recipe.sequence, padded_vocabulary(spec)});
}

Bytes activations_of(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  const std::int64_t size = element_size(recipe);
  const std::int64_t tokens = recipe.tokens_per_micro_batch();
  const std::int64_t row = tokens * spec.hidden * size;
  const std::int64_t layers = spec.layers;
  const bool keeps_gelu = setup.recomputation == Recomputation::kNone;
  const bool keeps_norms = setup.recomputation != Recomputation::kFull;
  const bool fused = setup.attention != AttentionKernel::kEager && size == 2;
  std::int64_t bytes = row;                                   // embeddings
  if (keeps_norms) bytes += 2 * layers * row;                 // both norms' results
  bytes += 4 * layers * tokens * 4;                           // their means and roots
  bytes += layers * row;                                      // attention's result
  bytes += fused ? 4 * layers * tokens * spec.heads           // its sums, or its shares
                 : size * layers * tokens * spec.heads * recipe.sequence;
  bytes += 2 * layers * row;                                  // the stream after attention and after the feed-forward layer
  bytes += 4 * layers * row;                                  // before GELU
  bytes += 4 * (keeps_gelu ? layers : 1) * row;               // after it
  bytes += 3 * layers * row;                                  // queries, keys, values
  bytes += row + 8 * tokens + 4 * tokens;                     // last norm, its statistics, losses
  bytes += tokens * output_width(spec, recipe) * size;
  bytes += 4 * row + row;                                     // gradients of the widest layer and of the stream
  return Bytes(bytes);
}

void launch_layer(Tape& tape, std::int64_t tokens, const ModelSpec& spec, const Recipe& recipe, DType type, bool fused, bool backward) {
  const std::int64_t c = spec.hidden;
  const std::int64_t widths[][2] = {{3 * c, c}, {c, c}, {4 * c, c}, {c, 4 * c}};
  for (const auto& [out, in] : widths) {
    tape.product(1, tokens, backward ? in : out, backward ? out : in, type);
    if (backward) tape.turned_product(1, out, in, tokens, type);
  }
  const std::int64_t batch = recipe.micro_batch * spec.heads;
  const double volume = 0.5 * static_cast<double>(batch * recipe.sequence) * static_cast<double>(recipe.sequence * spec.head_dim);
  const double row = static_cast<double>(tokens * c * size_of(type));
  if (fused) {
    tape.launch({.sort = StackKernelSort::kAttention, .dtype = type, .backward = backward, .causal = true, .batch = batch,
                 .m = recipe.sequence, .n = recipe.sequence, .k = spec.head_dim, .flops = (backward ? 10 : 4) * volume,
                 .bytes = (backward ? 10 : 4) * row});
  } else {
    for (int i = 0; i < (backward ? 4 : 2); ++i) tape.product(batch, recipe.sequence, recipe.sequence, spec.head_dim, type);
    tape.stream(static_cast<double>(2 * batch * recipe.sequence * recipe.sequence * size_of(type)), type);
  }
  // Norms fused with residual sums (2 · 4 rows), GELU (8), and the same again with gradients beside them.
  for (int kernel = 0; kernel < 3; ++kernel) tape.stream((backward ? 8 : 5) * row, type);
}

}  // namespace

LlmcArenas llmc_arenas(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  const std::int64_t count = parameters_of(spec);
  const std::int64_t size = element_size(recipe);
  const std::int64_t shard = setup.zero >= 1 ? count / setup.data_ranks : count;
  const std::int64_t states = size == 2 ? 3 : 2;  // without a second type there is no master copy
  return {.parameters = Bytes(count * size), .gradients = Bytes(count * size), .optimizer = Bytes(states * 4 * shard),
          .activations = activations_of(spec, recipe, setup)};
}

void launch_llmc_step(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  const std::int64_t tokens = recipe.tokens_per_micro_batch();
  const DType type = element_size(recipe) == 2 ? DType::kBf16 : DType::kFp32;
  const bool fused = setup.attention != AttentionKernel::kEager && type == DType::kBf16;
  const double logits = static_cast<double>(tokens * padded_vocabulary(spec) * size_of(type));
  for (std::int64_t i = 0; i < recipe.accumulate; ++i) {
    tape.phase(Phase::kForward);
    for (std::int64_t layer = 0; layer < spec.layers; ++layer) launch_layer(tape, tokens, spec, recipe, type, fused, false);
    tape.product(1, tokens, padded_vocabulary(spec), spec.hidden, type);
    tape.stream(2 * logits, type);
    tape.phase(Phase::kBackward);
    tape.product(1, tokens, spec.hidden, padded_vocabulary(spec), type);
    tape.turned_product(1, padded_vocabulary(spec), spec.hidden, tokens, type);
    for (std::int64_t layer = 0; layer < spec.layers; ++layer) launch_layer(tape, tokens, spec, recipe, type, fused, true);
  }
  const auto count = static_cast<double>(parameters_of(spec));
  const auto ranks = static_cast<double>(setup.data_ranks);
  if (ranks > 1) {
    tape.launch({.sort = StackKernelSort::kCollective, .dtype = type, .rounds = static_cast<std::uint8_t>(setup.zero > 0 ? 1 : 2),
                 .ranks = setup.data_ranks, .bytes = (setup.zero > 0 ? 1 : 2) * count * static_cast<double>(size_of(type)) * (ranks - 1) / ranks});
  }
  tape.phase(Phase::kOptimizer);
  const double share = setup.zero > 0 ? 1 / ranks : 1;
  tape.launch({.sort = StackKernelSort::kOptimizer, .dtype = DType::kFp32, .bytes = count * share * (24 + 2 * static_cast<double>(size_of(type)))});
  if (setup.zero > 0 && ranks > 1) {
    tape.launch({.sort = StackKernelSort::kCollective, .dtype = type, .ranks = setup.data_ranks,
                 .bytes = count * static_cast<double>(size_of(type)) * (ranks - 1) / ranks});
  }
}

}  // namespace plimsoll
