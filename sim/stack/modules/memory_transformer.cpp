#include "sim/stack/modules/memory_transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/stack/tape/convolutions.h"

namespace plimsoll {
namespace {

DenseMaker maker(Tape& tape, const Recipe& recipe, const StackSetup& setup, DType weights) {
  return {.tape = tape,
          .adapter = recipe.adapter,
          .dtype = weights,
          .compute = weights,
          .dropout = setup.adapter_dropout,
          .plain_scales = setup.plain_scales};
}

}  // namespace

MemoryTransformer::MemoryTransformer(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup,
                                     const ModuleRules& rules, DType weights)
    : tape_(tape), spec_(spec), recipe_(recipe), rules_(rules), words_(maker(tape, recipe, setup, weights), spec) {
  const DenseMaker make = maker(tape, recipe, setup, weights);
  content_bias_ = make.parameter("content bias", {spec.heads, spec.head_dim});
  distance_bias_ = make.parameter("distance bias", {spec.heads, spec.head_dim});
  for (std::int64_t i = 0; i < spec.layers; ++i) blocks_.push_back(make_block(make, fmt::format("block {}", i)));
  memories_.resize(static_cast<std::size_t>(recipe.accumulate));
}

MemoryTransformer::Block MemoryTransformer::make_block(const DenseMaker& make, const std::string& name) const {
  using Target = AdapterTarget;
  const std::int64_t width = spec_.attention_width(), hidden = spec_.hidden;
  Block made;
  made.attention = {.qkv = make.make(name + ".qkv", hidden, spec_.qkv_width(), false, Target::kQkv),
                    .projection = make.make(name + ".projection", width, hidden, false, Target::kOutput),
                    .distances = make.make_plain(name + ".distances", hidden, width, false),
                    .norm = make_norm(make, name + ".norm1", spec_, hidden)};
  made.feed.in = {make.make(name + ".feed.in", hidden, spec_.ffn, true, Target::kUp)};
  made.feed.out = make.make(name + ".feed.out", spec_.ffn, hidden, true, Target::kDown);
  made.norm = make_norm(make, name + ".norm2", spec_, hidden);
  return made;
}

Tensor MemoryTransformer::block(const Tensor& x, const Tensor& memory, const Block& weights, const DistanceContext& shared,
                                const BlockContext& context) {
  const Tensor attended = distance_attention(tape_, x, memory, weights.attention, shared, context);
  Tensor inner = relu_in_place(tape_, dense_layer(tape_, attended, weights.feed.in.front()));
  inner = dropout(tape_, inner, rules_.dropout);
  const Tensor fed = dropout(tape_, dense_layer(tape_, std::exchange(inner, {}), weights.feed.out), rules_.dropout);
  return norm_layer(tape_, add(tape_, attended, fed), weights.norm, context);
}

Tensor MemoryTransformer::remember(const Tensors& inputs, const Tensor& memory) {
  if (spec_.memory == 0) return {};
  const Shape& one = inputs.front().shape;
  const auto stacked = [&](std::int64_t tokens) {
    Tensor out = tape_.empty({spec_.layers, tokens, one[1], one[2]}, inputs.front().dtype);
    tape_.stream(2 * traffic(out), out.dtype);
    return out;
  };
  Tensor kept = stacked(one[0]);
  if (one[0] == spec_.memory) return kept;
  // What is cut off stays in the memory of the tensor that the rest is a view of.
  if (memory) kept = stacked(memory.shape[1] + one[0]);
  kept.shape[1] = std::min(kept.shape[1], spec_.memory);
  return kept;
}

Tensor MemoryTransformer::streams(const Tensor& memory, Tensor& kept) {
  const std::int64_t tokens = recipe_.sequence, batch = recipe_.micro_batch;
  const std::int64_t keys = tokens + (memory ? memory.shape[1] : 0);
  const BlockContext context{.spec = spec_, .rules = rules_, .rotation = {}, .mask = {}, .batch = batch, .sequence = tokens};
  Tensor x = words_.embed(tape_, tokens, batch);
  const DType type = x.dtype;
  const DistanceContext shared{.positions = dropout(tape_, tape_.empty({keys, 1, spec_.hidden}, type), rules_.dropout),
                               .mask = tape_.empty({tokens, keys}, kMaskType),
                               .content_bias = content_bias_,
                               .distance_bias = distance_bias_};
  x = dropout(tape_, x, rules_.embedding_dropout);
  Tensors inputs;
  for (const Block& own : blocks_) {
    tape_.at(fmt::format("block {}", &own - blocks_.data()));
    inputs.push_back(x.detached());
    Tensor before = memory;
    if (before) before.shape = {memory.shape[1], batch, spec_.hidden};
    x = block(x, before, own, shared, context);
  }
  x = dropout(tape_, x, rules_.dropout);
  kept = remember(inputs, memory);
  return x;
}

StackModel::Loss MemoryTransformer::loss(std::optional<DType> autocast) {
  Loss result;
  tape_.phase(Phase::kForward);
  tape_.at("embedding");
  Tensor& memory = memories_[micro_batch_];
  micro_batch_ = (micro_batch_ + 1) % memories_.size();
  tape_.with_autocast(autocast, [&] {
    Tensor kept;
    const Tensor rows = streams(memory, kept);
    tape_.at("loss");
    result.loss = words_.loss(tape_, rows);
    memory = kept;
  });
  return result;
}

}  // namespace plimsoll
