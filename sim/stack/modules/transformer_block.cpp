#include <fmt/format.h>

#include "sim/stack/modules/transformer_layers.h"

namespace plimsoll {
namespace {

std::vector<Weights> make_projections(Tape& tape, const std::string& name, const ModelSpec& spec, bool apart, DType dtype) {
  if (!apart) return {make_linear(tape, name + ".qkv", spec.hidden, spec.qkv_width(), spec.qkv_bias, dtype)};
  const std::int64_t kv_width = spec.kv_heads * spec.head_dim;
  return {make_linear(tape, name + ".q", spec.hidden, spec.attention_width(), spec.qkv_bias, dtype),
          make_linear(tape, name + ".k", spec.hidden, kv_width, spec.qkv_bias, dtype),
          make_linear(tape, name + ".v", spec.hidden, kv_width, spec.qkv_bias, dtype)};
}

std::vector<Weights> make_feed_in(Tape& tape, const std::string& name, const ModelSpec& spec, bool apart, DType dtype) {
  if (!is_gated(spec.activation) || !apart) {
    return {make_linear(tape, name + ".in", spec.hidden, spec.ffn_in_width(), spec.mlp_bias, dtype)};
  }
  return {make_linear(tape, name + ".gate", spec.hidden, spec.ffn, spec.mlp_bias, dtype),
          make_linear(tape, name + ".up", spec.hidden, spec.ffn, spec.mlp_bias, dtype)};
}

}  // namespace

Weights make_linear(Tape& tape, const std::string& name, std::int64_t inputs, std::int64_t outputs, bool bias, DType dtype) {
  Weights made{.weight = &tape.parameter(name + ".weight", {outputs, inputs}, dtype)};
  if (bias) made.bias = &tape.parameter(name + ".bias", {outputs}, dtype);
  return made;
}

Weights make_norm(Tape& tape, const std::string& name, const ModelSpec& spec, std::int64_t width, DType dtype) {
  Weights made{.weight = &tape.parameter(name + ".weight", {width}, dtype)};
  if (spec.norm == NormKind::kLayerNorm) made.bias = &tape.parameter(name + ".bias", {width}, dtype);
  return made;
}

BlockWeights make_block(Tape& tape, const std::string& name, const ModelSpec& spec, const ModuleRules& rules, DType dtype) {
  BlockWeights made;
  made.norm1 = make_norm(tape, name + ".norm1", spec, spec.hidden, dtype);
  made.qkv = make_projections(tape, name + ".attention", spec, rules.split_projections, dtype);
  if (spec.qk_norm) {
    made.query_norm = make_norm(tape, name + ".query_norm", spec, spec.head_dim, dtype);
    made.key_norm = make_norm(tape, name + ".key_norm", spec, spec.head_dim, dtype);
  }
  made.projection = make_linear(tape, name + ".projection", spec.attention_width(), spec.hidden, spec.projection_bias, dtype);
  if (!spec.parallel_block) made.norm2 = make_norm(tape, name + ".norm2", spec, spec.hidden, dtype);
  const bool gates_apart = rules.split_projections || rules.norm == NormCode::kInFp32;
  made.feed_in = make_feed_in(tape, name + ".feed", spec, gates_apart, dtype);
  made.feed_out = make_linear(tape, name + ".feed.out", spec.ffn, spec.hidden, spec.mlp_bias, dtype);
  return made;
}

Tensor transformer_block(Tape& tape, const Tensor& x, const BlockWeights& weights, const BlockContext& context) {
  const ModelSpec& spec = context.spec;
  if (spec.post_norm) {
    const Tensor middle = norm_layer(tape, add(tape, attention_layer(tape, x, weights, context), x), weights.norm1, context);
    return norm_layer(tape, add(tape, feed_forward_layer(tape, middle, weights, context), middle), weights.norm2, context);
  }
  if (spec.parallel_block) {
    const Tensor normed = norm_layer(tape, x, weights.norm1, context);
    const Tensor attended = attention_layer(tape, normed, weights, context);
    return add(tape, add(tape, attended, feed_forward_layer(tape, normed, weights, context)), x);
  }
  const Tensor middle = add(tape, x, attention_layer(tape, norm_layer(tape, x, weights.norm1, context), weights, context));
  return add(tape, middle, feed_forward_layer(tape, norm_layer(tape, middle, weights.norm2, context), weights, context));
}

}  // namespace plimsoll
