#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/model/model_spec.h"
#include "sim/stack/modules/dense_layer.h"
#include "sim/stack/modules/module_rules.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {

/// Parameters of a norm: weight and, of LayerNorm, bias.
Weights make_norm(const DenseMaker& make, const std::string& name, const ModelSpec& spec, std::int64_t width);

/// Parameters of a feed-forward layer.
struct FeedForwardWeights {
  std::vector<DenseLayer> in;  ///< one, or gate and up
  DenseLayer out;
};

/// Parameters of a mixture of experts, which stands in a feed-forward layer's place.
struct MixtureWeights {
  DenseLayer router;
  std::vector<FeedForwardWeights> experts;
  FeedForwardWeights shared;  ///< of the expert that every token passes through
  DenseLayer shared_gate;
};

/// Latent attention's, in place of those of queries, keys and values.
struct LatentWeights {
  DenseLayer query_down;  ///< nothing where queries come from the stream
  Weights query_norm;
  DenseLayer query;
  DenseLayer down;  ///< to the vector behind keys and values, and the rotated part of all keys
  Weights norm;
  DenseLayer key_value;
};

/// Parameters of one transformer block, in the order in which its modules are registered.
struct BlockWeights {
  Weights norm1;
  std::vector<DenseLayer> qkv;  ///< one fused, or three
  Weights query_norm;
  Weights key_norm;
  LatentWeights latent;
  Parameter* sinks = nullptr;
  DenseLayer projection;
  Weights behind1;  ///< the norm of what attention adds; nothing where there is none
  Weights norm2;
  FeedForwardWeights feed;
  MixtureWeights mixture;  ///< in the feed-forward layer's place; no experts where there is none
  Weights behind2;  ///< of what the feed-forward layer adds
};

/// As make_norm, of latent attention's layers.
LatentWeights make_latent(const DenseMaker& make, const std::string& name, const ModelSpec& spec);

/// Queries, keys and values of every head.
struct AttentionHeads {
  Tensor q, k, v;  ///< [b, heads, s, d], memory by token
};

BlockWeights make_block(const DenseMaker& make, const std::string& name, const ModelSpec& spec, const ModuleRules& rules, bool has_experts);

/// The same parameters without the adapters beside them.
BlockWeights without_adapter(BlockWeights block);

/// What is the same for all blocks of a forward pass.
struct BlockContext {
  const ModelSpec& spec;  ///< of what this rank computes
  const ModuleRules& rules;
  Tensor rotation;       ///< cosine and sine [1, 1, s, d], in the compute type; nothing without rotary positions
  Tensor mask;           ///< nothing where the kernel knows the mask
  Tensor local_mask;     ///< of the blocks with a window, where others have none, or none that is a tensor
  std::int64_t window = 0;  ///< tokens that the block's see, where the kernel knows of it; 0: all before them
  std::int64_t batch = 1;
  std::int64_t sequence = 1;  ///< tokens of it that this rank has
  double document = 0;        ///< tokens of packed documents, with each of which attention ends
  std::int64_t head_ranks = 1;  ///< that share a sequence by exchanging heads (Ulysses)
  std::int64_t ring_ranks = 1;  ///< that share it by passing keys and values round
  std::int64_t tensor_ranks = 1;  ///< that share layers, each with its own tokens of the stream between them
};

Tensor norm_layer(Tape& tape, const Tensor& x, const Weights& weights, const BlockContext& context);
/// x by the root of its rows' mean square, without a weight, in fp32 kernel by kernel.
Tensor weightless_norm(Tape& tape, const Tensor& x);
/// Through cap · tanh(x / cap), kernel by kernel; x itself where `cap` is 0.
Tensor capped(Tape& tape, Tensor x, double cap);
Tensor attention_layer(Tape& tape, const Tensor& x, const BlockWeights& weights, const BlockContext& context);
AttentionHeads latent_heads(Tape& tape, const Tensor& x, const LatentWeights& weights, const BlockContext& context);
/// x · cosine + rotated(x) · sine; the halves of a head change places.
Tensor rotate(Tape& tape, const Tensor& x, const BlockContext& context);
/// ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))), kernel by kernel (transformers' gelu_new).
Tensor new_gelu(Tape& tape, const Tensor& x);
Tensor feed_forward_layer(Tape& tape, const Tensor& x, const FeedForwardWeights& weights, const BlockContext& context);
/// One expert's layers.
using ExpertPass = std::function<Tensor(const Tensor& rows, const FeedForwardWeights& own)>;
/// Each expert on the tokens that chose it, one after another, as transformers writes it; the choices are taken to be even.
Tensor expert_layer(Tape& tape, const Tensor& x, const MixtureWeights& weights, const BlockContext& context,
                    const ExpertPass& pass);
Tensor transformer_block(Tape& tape, const Tensor& x, const BlockWeights& weights, const BlockContext& context);

}  // namespace plimsoll
