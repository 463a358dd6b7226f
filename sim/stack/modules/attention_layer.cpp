#include "sim/stack/modules/rank_tokens.h"
#include "sim/stack/modules/ring_attention.h"
#include "sim/stack/modules/sequence_exchange.h"
#include "sim/stack/modules/transformer_layers.h"
#include "sim/stack/modules/unsloth_layers.h"
#include "sim/stack/operators/fused_operations.h"

#include <utility>

namespace plimsoll {
namespace {

using Heads = AttentionHeads;

Tensor heads_of(Tape& tape, const Tensor& rows, std::int64_t heads, const BlockContext& context) {
  const Tensor cut = view(tape, rows, {context.batch, context.sequence, heads, context.spec.head_dim});
  return transpose(tape, cut, 1, 2);
}

/// Of one input the results of layers beside one another.
Tensors dense_layers(Tape& tape, const Tensor& x, const std::vector<const DenseLayer*>& layers, const BlockContext& context) {
  if (context.rules.unsloth && takes_adapters(layers)) return adapted_products(tape, x, layers, layers.size() > 1);
  Tensors results;
  for (const DenseLayer* layer : layers) results.push_back(dense_layer(tape, x, *layer));
  return results;
}

Tensor head_norm(Tape& tape, const Tensor& x, const Weights& weights, const BlockContext& context) {
  return weights.weight == nullptr ? x : norm_layer(tape, x, weights, context);
}

/// Layer by layer, each cut into heads before the next begins, as modules with a layer for each write it: what backward goes through in turn.
Heads heads_one_by_one(Tape& tape, const Tensor& x, const BlockWeights& weights, const BlockContext& context) {
  const auto made = [&](std::size_t i, std::int64_t heads) { return heads_of(tape, dense_layer(tape, x, weights.qkv[i]), heads, context); };
  Heads heads;
  heads.q = head_norm(tape, made(0, context.spec.heads), weights.query_norm, context);
  heads.k = head_norm(tape, made(1, context.spec.kv_heads), weights.key_norm, context);
  heads.v = made(2, context.spec.kv_heads);
  return heads;
}

Heads project(Tape& tape, const Tensor& x, const BlockWeights& weights, const BlockContext& context) {
  const ModelSpec& spec = context.spec;
  if (spec.latent.exists()) return latent_heads(tape, x, weights.latent, context);
  const bool apart = weights.qkv.size() == 3 && !spec.wide_qk_norm && !context.rules.unsloth;
  if (apart) return heads_one_by_one(tape, x, weights, context);
  const std::int64_t kv_width = spec.kv_heads * spec.head_dim;
  Tensors rows;
  if (weights.qkv.size() == 1) {
    rows = split(tape, dense_layer(tape, x, weights.qkv.front()), {spec.attention_width(), kv_width, kv_width});
  } else {
    rows = dense_layers(tape, x, {&weights.qkv[0], &weights.qkv[1], &weights.qkv[2]}, context);
  }
  if (spec.wide_qk_norm) {
    rows[0] = norm_layer(tape, rows[0], weights.query_norm, context);
    rows[1] = norm_layer(tape, rows[1], weights.key_norm, context);
  }
  Heads heads{.q = heads_of(tape, rows[0], spec.heads, context), .k = heads_of(tape, rows[1], spec.kv_heads, context),
              .v = heads_of(tape, rows[2], spec.kv_heads, context)};
  if (spec.wide_qk_norm) return heads;
  heads.q = head_norm(tape, heads.q, weights.query_norm, context);
  heads.k = head_norm(tape, heads.k, weights.key_norm, context);
  return heads;
}

/// The shares of the keys, where a learnt score of each head takes the rest: a column behind the scores, as gpt-oss writes it.
Tensor shares_beside_sinks(Tape& tape, const Tensor& scores, Parameter& sinks, const BlockContext& context) {
  const std::size_t last = scores.shape.size() - 1;
  Shape column = scores.shape;
  column.back() = 1;
  const Tensor values = view(tape, sinks.use(), {1, context.spec.heads, 1, 1});
  const Tensor all = concatenate(tape, {scores, add(tape, tape.empty(column, scores.dtype), values)}, last);
  const Tensor shares = softmax(tape, shift(tape, all), all.dtype);
  return narrow(tape, shares, last, scores.size(-1));
}

/// Scores, mask, softmax and their product with the values, one kernel after another. `held`: what names of the code keep.
Tensor eager_attention(Tape& tape, const Heads& heads, Parameter* sinks, const BlockContext& context, Tensors& held) {
  const ModuleRules& rules = context.rules;
  Tensor scores = scale(tape, matmul(tape, heads.q, transpose(tape, heads.k, 2, 3)));
  scores = capped(tape, std::move(scores), context.spec.score_cap);
  if (context.mask || context.spec.causal) {
    scores = rules.mask_as_sum && context.mask ? add(tape, scores, context.mask) : masked(tape, scores);
  }
  const bool wide = rules.softmax_in_fp32 || tape.autocast().has_value();
  const DType narrow_type = scores.dtype;
  Tensor shares = sinks != nullptr ? shares_beside_sinks(tape, scores, *sinks, context)
                                   : softmax(tape, scores, wide ? DType::kFp32 : scores.dtype);
  if (rules.holds_scores) held.push_back(scores);
  if (rules.softmax_in_fp32 || sinks != nullptr) shares = cast(tape, shares, narrow_type);
  scores = {};  // one name for both: it moves on when the shares are in their type
  shares = dropout(tape, shares, rules.attention_dropout);
  if (rules.holds_scores) held.push_back(shares);
  return matmul(tape, shares, heads.v);
}

/// Queries, keys and values in the type of the products, as transformers hands them to flash attention where the stream is wider.
Heads narrowed(Tape& tape, const Heads& heads, DType compute) {
  return {.q = cast(tape, heads.q, compute), .k = cast(tape, heads.k, compute), .v = cast(tape, heads.v, compute)};
}

/// Keys or values for every head of queries; fused attention reads a single head as often as it is asked for.
Tensor for_all_queries(Tape& tape, const Tensor& x, const Tensor& queries, const BlockContext& context) {
  const std::int64_t times = queries.shape[1] / x.shape[1];
  const bool fused = context.rules.attention != AttentionKernel::kEager;
  return fused && x.shape[1] == 1 ? expand_head(tape, x, times) : repeat_heads(tape, x, times);
}

Tensor sdpa(Tape& tape, const Heads& heads, const BlockContext& context) {
  const std::int64_t tokens = context.head_ranks * context.sequence;
  const AttentionCall call{.heads = context.spec.heads / context.head_ranks, .sequence = tokens, .keys = tokens, .head_dim = context.spec.head_dim,
                           .causal = context.spec.causal, .window = context.window,
                           .flash = context.rules.attention == AttentionKernel::kFlash, .mask = context.mask,
                           .dropout = context.rules.attention_dropout, .document = context.document};
  return context.ring_ranks > 1 ? ring_attention(tape, heads, call, context.ring_ranks) : fused_attention(tape, heads.q, heads.k, heads.v, call);
}

/// Values narrower than keys are widened for a kernel that wants both alike, and its result is cut.
Tensor kernel_attention(Tape& tape, Heads heads, const BlockContext& context) {
  const LatentAttention& latent = context.spec.latent;
  if (!latent.exists() || latent.value_dim >= latent.key_dim()) return sdpa(tape, heads, context);
  const std::size_t last = heads.v.shape.size() - 1;
  Shape rest = heads.v.shape;
  rest.back() = latent.key_dim() - latent.value_dim;
  heads.v = concatenate(tape, {heads.v, tape.empty(rest, heads.v.dtype)}, last);
  return narrow(tape, sdpa(tape, heads, context), last, latent.value_dim);
}

/// x cos + (−x₂, x₁) sin, kernel by kernel.
Tensor rotate_all(Tape& tape, const Tensor& x, const BlockContext& context) {
  const std::int64_t half = x.size(-1) / 2;
  const std::size_t last = x.shape.size() - 1;
  const Tensor straight = multiply(tape, x, context.rotation);
  const Tensor first = narrow(tape, x, last, half), second = narrow(tape, x, last, half);
  Tensor turned = concatenate(tape, {scale(tape, second), first}, last);
  turned = multiply(tape, turned, context.rotation);
  return add(tape, straight, turned);
}

}  // namespace

Tensor rotate(Tape& tape, const Tensor& x, const BlockContext& context) {
  if (context.rules.fused_pointwise) return scale(tape, x);
  if (context.rules.liger || context.rules.unsloth) return rotated_in_place(tape, x, context.rules.liger);
  const std::size_t last = x.shape.size() - 1;
  const std::int64_t width = context.spec.rotary_width(), rest = x.size(-1) - width;
  if (rest > 0) return concatenate(tape, {rotate_all(tape, narrow(tape, x, last, width), context), narrow(tape, x, last, rest)}, last);
  Tensor rotated = rotate_all(tape, x, context);
  return context.rules.rejoins_heads ? concatenate(tape, {std::exchange(rotated, {})}, last) : rotated;
}

Tensor capped(Tape& tape, Tensor x, double cap) {
  if (cap == 0) return x;
  x = scale(tape, x);
  x = from_result(tape, x);
  return scale(tape, x);
}

Tensor attention_layer(Tape& tape, const Tensor& own, const BlockWeights& weights, const BlockContext& context) {
  const ModelSpec& spec = context.spec;
  Tensor x = all_tokens(tape, own, context.tensor_ranks, weights.projection.fp8);
  Heads heads = project(tape, x, weights, context);
  if (tape.is_compiled()) x = {};  // a name that eager code has until it returns
  if (context.rotation && !spec.latent.exists()) {
    Tensor q = rotate(tape, heads.q, context), k = rotate(tape, heads.k, context);  // names of both move on together
    heads.q = std::move(q);
    heads.k = std::move(k);
  }
  if (spec.qk_norm && spec.family == Family::kLlama4) {  // behind the rotation
    heads.q = weightless_norm(tape, heads.q);
    heads.k = weightless_norm(tape, heads.k);
  }
  if (context.head_ranks > 1) heads = exchanged_heads(tape, heads, context.head_ranks);
  if (context.rules.repeats_heads || (context.rules.masks_window && context.mask && spec.kv_heads < spec.heads)) {
    heads.k = for_all_queries(tape, heads.k, heads.q, context);
    heads.v = for_all_queries(tape, heads.v, heads.q, context);
  }
  const bool wide = context.rules.prepared && context.rules.attention == AttentionKernel::kFlash && !tape.autocast();
  if (wide) heads = narrowed(tape, heads, weights.projection.compute);
  const bool eager = context.rules.attention == AttentionKernel::kEager;
  Tensors held;
  Tensor out = eager ? eager_attention(tape, heads, weights.sinks, context, held) : kernel_attention(tape, heads, context);
  if (context.head_ranks > 1) out = exchanged_back(tape, out, context.head_ranks);
  out = contiguous(tape, transpose(tape, out, 1, 2));
  out = view(tape, out, {context.batch, context.sequence, weights.projection.inputs});
  out = dense_layers(tape, out, {&weights.projection}, context).front();
  return dropout(tape, own_tokens(tape, std::move(out), context.tensor_ranks, weights.projection.fp8), context.rules.dropout);
}

}  // namespace plimsoll
