#include "sim/stack/modules/transformer_layers.h"

namespace plimsoll {
namespace {

struct Heads {
  Tensor q, k, v;  ///< [b, heads, s, d], memory by token
};

Tensor heads_of(Tape& tape, const Tensor& rows, std::int64_t heads, const BlockContext& context) {
  const Tensor cut = view(tape, rows, {context.batch, context.sequence, heads, context.spec.head_dim});
  return transpose(tape, cut, 1, 2);
}

Heads project(Tape& tape, const Tensor& x, const BlockWeights& weights, const BlockContext& context) {
  const ModelSpec& spec = context.spec;
  const std::int64_t kv_width = spec.kv_heads * spec.head_dim;
  Tensors rows;
  if (weights.qkv.size() == 1) {
    rows = split(tape, dense_layer(tape, x, weights.qkv.front()), {spec.attention_width(), kv_width, kv_width});
  } else {
    for (const DenseLayer& one : weights.qkv) rows.push_back(dense_layer(tape, x, one));
  }
  return {.q = heads_of(tape, rows[0], spec.heads, context), .k = heads_of(tape, rows[1], spec.kv_heads, context),
          .v = heads_of(tape, rows[2], spec.kv_heads, context)};
}

/// x · cosine + rotated(x) · sine; the halves of a head change places.
Tensor rotate(Tape& tape, const Tensor& x, const BlockContext& context) {
  if (context.rules.fused_pointwise) return scale(tape, x);
  const std::int64_t half = x.size(-1) / 2;
  const std::size_t last = x.shape.size() - 1;
  const Tensor turned = concatenate(tape, {scale(tape, narrow(tape, x, last, half)), narrow(tape, x, last, half)}, last);
  return add(tape, multiply(tape, x, context.rotation), multiply(tape, turned, context.rotation));
}

Tensor head_norm(Tape& tape, const Tensor& x, const Weights& weights, const BlockContext& context) {
  return weights.weight == nullptr ? x : norm_layer(tape, x, weights, context);
}

/// Scores, mask, softmax and their product with the values, one kernel after another.
Tensor eager_attention(Tape& tape, const Heads& heads, const BlockContext& context) {
  const ModuleRules& rules = context.rules;
  Tensor scores = scale(tape, matmul(tape, heads.q, transpose(tape, heads.k, 2, 3)));
  if (context.mask || context.spec.causal) {
    scores = rules.mask_as_sum && context.mask ? add(tape, scores, context.mask) : masked(tape, scores);
  }
  const bool wide = rules.softmax_in_fp32 || tape.autocast().has_value();
  const DType narrow_type = scores.dtype;
  Tensor shares = softmax(tape, scores, wide ? DType::kFp32 : scores.dtype);
  scores = {};
  if (rules.softmax_in_fp32) shares = cast(tape, shares, narrow_type);
  shares = dropout(tape, shares, rules.attention_dropout);
  return matmul(tape, shares, heads.v);
}

Tensor sdpa(Tape& tape, const Heads& heads, const BlockContext& context) {
  return fused_attention(tape, heads.q, heads.k, heads.v,
                         {.heads = context.spec.heads, .sequence = context.sequence, .keys = context.sequence,
                          .head_dim = context.spec.head_dim, .causal = context.spec.causal,
                          .flash = context.rules.attention == AttentionKernel::kFlash, 
                          .dropout = context.rules.attention_dropout});
}

}  // namespace

Tensor attention_layer(Tape& tape, const Tensor& x, const BlockWeights& weights, const BlockContext& context) {
  const ModelSpec& spec = context.spec;
  Heads heads = project(tape, x, weights, context);
  heads.q = head_norm(tape, heads.q, weights.query_norm, context);
  heads.k = head_norm(tape, heads.k, weights.key_norm, context);
  if (context.rotation) {
    heads.q = rotate(tape, heads.q, context);
    heads.k = rotate(tape, heads.k, context);
  }
  if (context.rules.repeats_heads) {
    heads.k = repeat_heads(tape, heads.k, spec.heads / spec.kv_heads);
    heads.v = repeat_heads(tape, heads.v, spec.heads / spec.kv_heads);
  }
  Tensor out = context.rules.attention == AttentionKernel::kEager ? eager_attention(tape, heads, context) : sdpa(tape, heads, context);
  out = contiguous(tape, transpose(tape, out, 1, 2));
  out = view(tape, out, {context.batch, context.sequence, spec.attention_width()});
  return dropout(tape, dense_layer(tape, out, weights.projection), context.rules.dropout);
}

}  // namespace plimsoll
