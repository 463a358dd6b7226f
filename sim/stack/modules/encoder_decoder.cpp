#include "sim/stack/modules/encoder_decoder.h"

#include <fmt/format.h>

#include <utility>

#include "sim/stack/tape/checkpoint_all.h"

namespace plimsoll {

EncoderDecoder::EncoderDecoder(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const ModuleRules& rules,
                               DType weights)
    : tape_(tape), spec_(spec), recipe_(recipe), setup_(setup), rules_(rules) {
  const DenseMaker make{.tape = tape, .adapter = recipe.adapter, .dtype = weights, .plain_scales = setup.plain_scales,
                        .older_bitsandbytes = setup.older_bitsandbytes, .fp8 = setup.fp8.exists()};
  tokens_ = make.parameter("tokens", {spec.vocabulary, spec.hidden});
  encoder_ = make_stack(make, "encoder", spec.layers, false);
  decoder_ = make_stack(make, "decoder", spec.decoder_layers, true);
  if (spec.tied_head) {
    output_.weight = tokens_;
  } else {
    output_ = make.make_plain("output", spec.hidden, spec.vocabulary, false);
  }
}

EncoderDecoder::Attention EncoderDecoder::make_attention(const DenseMaker& make, const std::string& name) const {
  const std::int64_t width = spec_.attention_width();
  return {.norm = make_norm(make, name + ".norm", spec_, spec_.hidden),
          .q = make.make(name + ".q", spec_.hidden, width, false, AdapterTarget::kQuery),
          .k = make.make(name + ".k", spec_.hidden, width, false, AdapterTarget::kKey),
          .v = make.make(name + ".v", spec_.hidden, width, false, AdapterTarget::kValue),
          .out = make.make(name + ".out", width, spec_.hidden, false, AdapterTarget::kOutput)};
}

FeedForwardWeights EncoderDecoder::make_feed_forward(const DenseMaker& make, const std::string& name) const {
  FeedForwardWeights made;
  made.in.push_back(make.make(name + ".in", spec_.hidden, spec_.ffn, false, AdapterTarget::kUp));
  if (is_gated(spec_.activation))
    made.in.push_back(make.make(name + ".gate", spec_.hidden, spec_.ffn, false, AdapterTarget::kGate));
  made.out = make.make(name + ".out", spec_.ffn, spec_.hidden, false, AdapterTarget::kDown);
  return made;
}

EncoderDecoder::Stack EncoderDecoder::make_stack(const DenseMaker& make, const std::string& name, std::int64_t blocks, bool crosses) const {
  Stack stack;
  stack.distances = make.parameter(name + ".distances", {spec_.relative_buckets, spec_.heads});
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::string own = fmt::format("{} {}", name, i);
    Block made{.self = make_attention(make, own + ".self")};
    if (crosses) made.cross = make_attention(make, own + ".cross");
    made.norm = make_norm(make, own + ".norm", spec_, spec_.hidden);
    if (spec_.has_experts(crosses ? spec_.layers + i : i)) {
      made.mixture.router = make.make_plain(own + ".router", spec_.hidden, spec_.experts.count, false);
      for (std::int64_t e = 0; e < spec_.experts.count; ++e)
        made.mixture.experts.push_back(make_feed_forward(make, fmt::format("{}.expert {}", own, e)));
    } else {
      made.feed = make_feed_forward(make, own);
    }
    stack.blocks.push_back(std::move(made));
  }
  stack.norm = make_norm(make, name + ".norm", spec_, spec_.hidden);
  return stack;
}

Tensor EncoderDecoder::distance_bias(const Stack& stack, std::int64_t s) {
  Tensor bias = embedding(tape_, tape_.empty({s, s}, kIndexType), *stack.distances);
  bias = view(tape_, contiguous(tape_, transpose(tape_, view(tape_, bias, {1, s * s, spec_.heads}), 1, 2)), {1, spec_.heads, s, s});
  return add(tape_, bias, tape_.empty({recipe_.micro_batch, 1, s, s}, bias.dtype));  // the mask
}

Tensor EncoderDecoder::attend(const Tensor& x, const Tensor& memory, const Attention& weights, const Tensor& bias,
                              const BlockContext& context) {
  const Tensor normed = norm_layer(tape_, x, weights.norm, context);
  const auto heads = [&](const Tensor& rows, std::int64_t tokens) {
    return transpose(tape_, view(tape_, rows, {context.batch, tokens, spec_.heads, spec_.head_dim}), 1, 2);
  };
  const Tensor& source = memory ? memory : normed;
  const std::int64_t read = memory ? recipe_.sequence : context.sequence;
  const Tensor q = heads(dense_layer(tape_, normed, weights.q), context.sequence);
  const Tensor k = heads(dense_layer(tape_, source, weights.k), read);
  const Tensor v = heads(dense_layer(tape_, source, weights.v), read);
  Tensor scores = matmul(tape_, q, transpose(tape_, k, 2, 3));
  if (bias) scores = add(tape_, scores, bias);
  const DType narrow_type = scores.dtype;
  Tensor shares = cast(tape_, softmax(tape_, std::exchange(scores, {}), DType::kFp32), narrow_type);
  Tensor out = matmul(tape_, dropout(tape_, std::exchange(shares, {}), rules_.dropout), v);
  out = view(tape_, contiguous(tape_, transpose(tape_, out, 1, 2)), {context.batch, context.sequence, spec_.attention_width()});
  return add(tape_, x, dropout(tape_, dense_layer(tape_, out, weights.out), rules_.dropout));
}

Tensor EncoderDecoder::inner_layers(const Tensor& rows, const FeedForwardWeights& weights) {
  Tensor inner = dense_layer(tape_, rows, weights.in.front());
  inner = is_gated(spec_.activation) ? new_gelu(tape_, inner) : from_result(tape_, inner);  // T5 1.1's "gated-gelu" is gelu_new
  if (weights.in.size() == 2) inner = multiply(tape_, inner, dense_layer(tape_, rows, weights.in.back()));
  inner = dropout(tape_, inner, rules_.dropout);
  return dense_layer(tape_, std::exchange(inner, {}), weights.out);
}

Tensor EncoderDecoder::feed_forward(const Tensor& x, const Block& block, const BlockContext& context) {
  const Tensor normed = norm_layer(tape_, x, block.norm, context);
  const ExpertPass pass = [&](const Tensor& rows, const FeedForwardWeights& own) { return inner_layers(rows, own); };
  Tensor fed = block.mixture.experts.empty() ? pass(normed, block.feed)
                                             : expert_layer(tape_, normed, block.mixture, context, pass);
  return add(tape_, x, dropout(tape_, std::exchange(fed, {}), rules_.dropout));
}

Tensor EncoderDecoder::block(const Tensor& x, const Tensor& memory, const Block& weights, const Tensor& bias, const BlockContext& context) {
  Tensor out = attend(x, {}, weights.self, bias, context);
  if (memory) out = attend(out, memory, weights.cross, {}, context);
  return feed_forward(out, weights, context);
}

/// What a block reads beside its input goes through the checkpoint, too, where it wants a gradient.
Tensor EncoderDecoder::checkpointed_block(const Tensor& x, const Tensor& memory, const Block& weights, const Tensor& bias,
                                          const BlockContext& context) {
  const bool reaches_encoder = memory.needs_gradient(), reaches_bias = bias.needs_gradient();
  Tensors inputs{x};
  if (reaches_encoder) inputs.push_back(memory);
  if (reaches_bias) inputs.push_back(bias);
  const auto again = [this, reaches_encoder, reaches_bias, context, &weights, kept = memory.detached(), base = bias.detached()](const Tensors& read) {
    return Tensors{block(read.front(), reaches_encoder ? read[1] : kept, weights, reaches_bias ? read.back() : base, context)};
  };
  return checkpoint_all(tape_, inputs, again).front();
}

Tensor EncoderDecoder::run(const Stack& stack, const Tensor& memory, const BlockContext& context) {
  Tensor x = dropout(tape_, embedding(tape_, tape_.empty({context.batch, context.sequence}, kIndexType), *tokens_), rules_.dropout);
  const Tensor bias = distance_bias(stack, context.sequence);
  for (const Block& own : stack.blocks) {
    tape_.at(fmt::format("{} {}", memory ? "decoder" : "encoder", &own - stack.blocks.data()));
    if (setup_.recomputation == Recomputation::kNone) {
      x = block(x, memory, own, bias, context);
    } else {
      x = checkpointed_block(x, memory, own, bias, context);
    }
  }
  return dropout(tape_, norm_layer(tape_, x, stack.norm, context), rules_.dropout);
}

StackModel::Loss EncoderDecoder::loss(std::optional<DType> autocast) {
  Loss result;
  tape_.phase(Phase::kForward);
  tape_.at("embedding");
  tape_.with_autocast(autocast, [&] {
    const auto of_tokens = [&](std::int64_t tokens) {
      return BlockContext{.spec = spec_, .rules = rules_, .rotation = {}, .mask = {}, .batch = recipe_.micro_batch, .sequence = tokens};
    };
    const Tensor memory = run(encoder_, {}, of_tokens(recipe_.sequence));
    Tensor rows = run(decoder_, memory, of_tokens(target_tokens(recipe_)));
    tape_.at("head");
    if (spec_.tied_head) rows = scale(tape_, rows);
    Tensor logits = linear(tape_, std::exchange(rows, {}), output_);
    tape_.at("loss");
    if (rules_.holds_logits) result.logits = logits;
    result.loss = cross_entropy(tape_, std::exchange(logits, {}));
  });
  return result;
}

}  // namespace plimsoll
