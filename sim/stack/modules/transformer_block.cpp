#include <fmt/format.h>

#include <utility>

#include "sim/stack/modules/transformer_layers.h"
#include "sim/stack/operators/tiled.h"

namespace plimsoll {
namespace {

std::vector<DenseLayer> make_projections(const DenseMaker& make, const std::string& name, const ModelSpec& spec, bool apart) {
  using Target = AdapterTarget;
  if (!apart) return {make.make(name + ".qkv", spec.hidden, spec.qkv_width(), spec.qkv_bias, Target::kQkv)};
  const std::int64_t kv_width = spec.kv_heads * spec.head_dim;
  return {make.make(name + ".q", spec.hidden, spec.attention_width(), spec.qkv_bias, Target::kQuery),
          make.make(name + ".k", spec.hidden, kv_width, spec.qkv_bias, Target::kKey),
          make.make(name + ".v", spec.hidden, kv_width, spec.qkv_bias, Target::kValue)};
}

FeedForwardWeights make_feed_forward(const DenseMaker& make, const std::string& name, const ModelSpec& spec, std::int64_t width, bool apart) {
  using Target = AdapterTarget;
  FeedForwardWeights made;
  if (is_gated(spec.activation) && apart) {
    made.in = {make.make(name + ".gate", spec.hidden, width, spec.mlp_bias, Target::kGate),
               make.make(name + ".up", spec.hidden, width, spec.mlp_bias, Target::kUp)};
  } else {
    const std::int64_t in_width = is_gated(spec.activation) ? 2 * width : width;
    made.in = {make.make(name + ".in", spec.hidden, in_width, spec.mlp_bias, Target::kUp)};
  }
  made.out = make.make(name + ".out", width, spec.hidden, spec.mlp_bias, Target::kDown);
  return made;
}

}  // namespace

Weights make_norm(const DenseMaker& make, const std::string& name, const ModelSpec& spec, std::int64_t width) {
  if (!spec.norm_weight) return {};
  // PEFT's tuning of norms copies those of the stream.
  const bool copied = make.kind.method == AdapterMethod::kNorms && !name.ends_with("query_norm") && !name.ends_with("key_norm");
  Weights made{.weight = make.parameter_or_copy(name + ".weight", {width}, copied)};
  if (spec.norm == NormKind::kLayerNorm && spec.norm_bias) made.bias = make.parameter_or_copy(name + ".bias", {width}, copied);
  return made;
}

BlockWeights make_block(const DenseMaker& make, const std::string& name, const ModelSpec& spec, const ModuleRules& rules, bool has_experts) {
  BlockWeights made;
  if (spec.norms_before()) made.norm1 = make_norm(make, name + ".norm1", spec, spec.hidden);
  if (spec.latent.exists()) {
    made.latent = make_latent(make, name + ".attention", spec);
  } else {
    made.qkv = make_projections(make, name + ".attention", spec, rules.split_projections);
  }
  if (spec.qk_norm && spec.family != Family::kLlama4) {
    made.query_norm = make_norm(make, name + ".query_norm", spec, spec.wide_qk_norm ? spec.attention_width() : spec.head_dim);
    made.key_norm = make_norm(make, name + ".key_norm", spec, spec.wide_qk_norm ? spec.kv_heads * spec.head_dim : spec.head_dim);
  }
  if (spec.sinks) made.sinks = make.parameter(name + ".sinks", {spec.heads});
  const std::int64_t attended = spec.latent.exists() ? spec.heads * spec.latent.value_dim : spec.attention_width();
  made.projection = make.make(name + ".projection", attended, spec.hidden, spec.projection_bias, AdapterTarget::kOutput);
  if (spec.norms_behind()) {
    made.behind1 = make_norm(make, name + ".norm_behind_attention", spec, spec.hidden);
    made.behind2 = make_norm(make, name + ".norm_behind_feed", spec, spec.hidden);
  }
  if (spec.norms_before() && (!spec.parallel_block || spec.parallel_norms)) made.norm2 = make_norm(make, name + ".norm2", spec, spec.hidden);
  const bool gates_apart = spec.family != Family::kGptOss && (rules.split_projections || rules.norm == NormCode::kInFp32);
  if (!has_experts) {
    made.feed = make_feed_forward(make, name + ".feed", spec, spec.ffn, gates_apart);
    return made;
  }
  made.mixture.router = make.make_plain(name + ".router", spec.hidden, spec.experts.count, spec.experts.router_bias);
  DenseMaker experts = make;
  experts.encodes = !rules.stacks_experts;
  for (std::int64_t i = 0; i < spec.experts.count; ++i) {
    made.mixture.experts.push_back(
        make_feed_forward(experts, fmt::format("{}.expert {}", name, i), spec, spec.expert_width(), gates_apart));
  }
  if (spec.experts.shared_width == 0) return made;
  made.mixture.shared = make_feed_forward(make, name + ".shared_expert", spec, spec.experts.shared_width, gates_apart);
  if (spec.experts.shared_gate)
    made.mixture.shared_gate = make.make_plain(name + ".shared_gate", spec.hidden, 1, false);
  return made;
}

namespace {

void take_adapters(std::vector<DenseLayer*> layers) {
  for (DenseLayer* layer : layers) layer->adapter = {};
}

void take_adapters(FeedForwardWeights& feed) {
  for (DenseLayer& layer : feed.in) layer.adapter = {};
  feed.out.adapter = {};
}

}  // namespace

BlockWeights without_adapter(BlockWeights block) {
  for (DenseLayer& layer : block.qkv) layer.adapter = {};
  take_adapters({&block.projection, &block.latent.query_down, &block.latent.query, &block.latent.down, &block.latent.key_value});
  take_adapters(block.feed);
  for (FeedForwardWeights& expert : block.mixture.experts) take_adapters(expert);
  take_adapters(block.mixture.shared);
  return block;
}

namespace {

Tensor feed(Tape& tape, const Tensor& x, const BlockWeights& weights, const BlockContext& context) {
  const ExpertPass pass = [&](const Tensor& rows, const FeedForwardWeights& own) {
    return feed_forward_layer(tape, rows, own, context);
  };
  if (context.rules.tiled && weights.mixture.experts.empty()) {
    const std::int64_t tiles = (context.sequence + context.spec.hidden - 1) / context.spec.hidden;
    return tiled(tape, x, tiles, [&tape, &weights, context](const Tensor& tile) { return feed_forward_layer(tape, tile, weights.feed, context); });
  }
  return weights.mixture.experts.empty() ? pass(x, weights.feed)
                                         : expert_layer(tape, x, weights.mixture, context, pass);
}

/// Each half adds a norm of what it made (Gemma 2, OLMo 2).
Tensor block_with_norms_behind(Tape& tape, const Tensor& x, const BlockWeights& weights, const BlockContext& context) {
  const bool before = context.spec.norms_before();
  const auto read = [&](const Tensor& stream, const Weights& norm) { return before ? norm_layer(tape, stream, norm, context) : stream; };
  const Tensor attended = attention_layer(tape, read(x, weights.norm1), weights, context);
  const Tensor middle = add(tape, x, norm_layer(tape, attended, weights.behind1, context));
  const Tensor fed = feed(tape, read(middle, weights.norm2), weights, context);
  return add(tape, middle, norm_layer(tape, fed, weights.behind2, context));
}

}  // namespace

Tensor transformer_block(Tape& tape, const Tensor& x, const BlockWeights& weights, const BlockContext& context) {
  const ModelSpec& spec = context.spec;
  if (spec.post_norm) {
    const Tensor middle = norm_layer(tape, add(tape, attention_layer(tape, x, weights, context), x), weights.norm1, context);
    return norm_layer(tape, add(tape, feed(tape, middle, weights, context), middle), weights.norm2, context);
  }
  if (spec.norms_behind()) return block_with_norms_behind(tape, x, weights, context);
  if (spec.parallel_block) {
    const Tensor normed = norm_layer(tape, x, weights.norm1, context);
    const Tensor attended = attention_layer(tape, normed, weights, context);
    const Tensor other = spec.parallel_norms ? norm_layer(tape, x, weights.norm2, context) : normed;
    return add(tape, add(tape, attended, feed(tape, other, weights, context)), x);
  }
  // What a half reads has no name any more when its result is added, and that none when the next half begins.
  Tensor half = attention_layer(tape, norm_layer(tape, x, weights.norm1, context), weights, context);
  const Tensor middle = add(tape, x, std::exchange(half, {}));
  half = feed(tape, norm_layer(tape, middle, weights.norm2, context), weights, context);
  return add(tape, middle, std::exchange(half, {}));
}

}  // namespace plimsoll
