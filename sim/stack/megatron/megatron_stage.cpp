#include "sim/stack/megatron/megatron_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/stack/tape/fp8_products.h"

namespace plimsoll {
namespace {

/// The vocabulary is padded so that every rank's part is a multiple of this.
constexpr std::int64_t kVocabularyStep = 128;

std::int64_t padded_part(std::int64_t vocabulary, std::int64_t ranks) {
  return (vocabulary + kVocabularyStep * ranks - 1) / (kVocabularyStep * ranks) * kVocabularyStep;
}

Weights make_linear(Tape& tape, const std::string& name, std::int64_t inputs, std::int64_t outputs, bool bias, DType dtype,
                    const Fp8Setup& fp8 = {}) {
  Weights made{.weight = &tape.parameter(name + ".weight", {outputs, inputs}, fp8.exists() && fp8.parameters ? kFp8Type : dtype)};
  made.fp8 = fp8.exists();
  if (bias) made.bias = &tape.parameter(name + ".bias", {outputs}, dtype);
  return made;
}

Weights make_norm(Tape& tape, const std::string& name, const ModelSpec& spec, std::int64_t width, DType dtype) {
  Weights made{.weight = &tape.parameter(name + ".weight", {width}, dtype)};
  if (spec.norm == NormKind::kLayerNorm) made.bias = &tape.parameter(name + ".bias", {width}, dtype);
  return made;
}

/// DeepSpeed fills one stage after another up to the most that one must have, and the last takes what is left.
std::int64_t layers_left_over(const ModelSpec& spec, const StackSetup& setup, std::int64_t stage) {
  const std::int64_t most = (spec.layers + setup.stages - 1) / setup.stages;
  const std::int64_t last = spec.layers - most * (setup.stages - 1);
  if (setup.stack != Stack::kDeepspeed || last < 1) return 0;
  return stage + 1 == setup.stages ? last : most;
}

}  // namespace

std::int64_t layers_of_chunk(const ModelSpec& spec, const StackSetup& setup, std::int64_t stage) {
  const std::int64_t parts = setup.stages * setup.chunks;
  if (spec.layers % parts == 0) return spec.layers / parts;
  if (setup.chunks > 1) return 0;
  if ((spec.layers + 2) % setup.stages != 0) return layers_left_over(spec, setup, stage);
  const std::int64_t ends = (stage == 0 ? 1 : 0) + (stage + 1 == setup.stages ? 1 : 0);
  return (spec.layers + 2) / setup.stages - ends;
}

MegatronCut megatron_cut(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, std::string_view capability) {
  const bool fused = setup.attention != AttentionKernel::kEager;
  const double usual = spec.positions == PositionKind::kLearned ? 0.1 : 0;
  return {.tensor_ranks = setup.tensor_ranks, .sequence_parallel = setup.sequence_parallel && setup.tensor_ranks > 1,
          .batch = recipe.micro_batch, .sequence = recipe.sequence / setup.context_ranks, .dropout = setup.dropout.value_or(usual),
          .fused_attention = fused, .copies_attention = fused && !spec.latent.exists() && capability != "9.0" && recipe.micro_batch > 1,
          .recomputes_attention = setup.recomputation == Recomputation::kSelective,
          .fused_rotation = setup.fused_rotation,
          .overlaps = setup.overlaps_communication,
          .own_gradients = setup.stack == Stack::kDeepspeed,
          .type = recipe.precision == Precision::kFp32 ? DType::kFp32 : compute_dtype(recipe.precision)};
}

MegatronStage::MegatronStage(Tape& tape, const ModelSpec& spec, const Recipe&, const StackSetup& setup, std::int64_t stage,
                             const MegatronCut& cut)
    : tape_(tape), spec_(spec), setup_(setup), stage_(stage), cut_(cut), expert_cut_(expert_cut(setup, cut)), vocabulary_(padded_part(spec.vocabulary, cut.tensor_ranks)),
      layers_a_chunk_(layers_of_chunk(spec, setup, stage)) {
  if (spec.positions == PositionKind::kRope && !spec.latent.exists()) angles_ = tape.empty({cut.sequence, spec.rotary_width()}, DType::kFp32, Holding::kWorkspace);
  if (stage == 0) make_embeddings();
  for (std::int64_t i = 0; i < layers_a_chunk_ * setup.chunks; ++i) make_layer(i);
  if (stage + 1 == setup.stages) make_head();
}

void MegatronStage::make_embeddings() {
  tokens_ = &tape_.parameter("tokens", {vocabulary_, spec_.hidden}, cut_.type);
  if (spec_.positions == PositionKind::kLearned) positions_ = &tape_.parameter("positions", {spec_.max_positions, spec_.hidden}, cut_.type);
  if (spec_.token_types > 0) types_ = &tape_.parameter("token types", {spec_.token_types, spec_.hidden}, cut_.type);
}

/// Which layer of the model a layer of this stage is: chunks go round the stages.
std::int64_t MegatronStage::layer_of_model(std::int64_t index) const {
  if (setup_.chunks > 1) return (index / layers_a_chunk_ * setup_.stages + stage_) * layers_a_chunk_ + index % layers_a_chunk_;
  std::int64_t before = 0;
  for (std::int64_t stage = 0; stage < stage_; ++stage) before += layers_of_chunk(spec_, setup_, stage);
  return before + index;
}

void MegatronStage::make_attention(Layer& made, const std::string& name, const Fp8Setup& fp8) {
  const std::int64_t h = spec_.hidden;
  if (spec_.latent.exists()) {
    made.latent = make_rank_latent(tape_, name, spec_, cut_);
  } else {
    made.qkv = make_linear(tape_, name + ".qkv", h, part(spec_.qkv_width()), spec_.qkv_bias, cut_.type, fp8);
  }
  if (spec_.qk_norm) {
    made.head_norms.queries = make_norm(tape_, name + ".query_norm", spec_, spec_.head_dim, cut_.type);
    made.head_norms.keys = make_norm(tape_, name + ".key_norm", spec_, spec_.head_dim, cut_.type);
  }
  made.projection = make_linear(tape_, name + ".projection", part(attended_width()), h, spec_.projection_bias, cut_.type, fp8);
}

void MegatronStage::make_layer(std::int64_t index) {
  const std::string name = fmt::format("block {}", index);
  const Fp8Setup fp8 = setup_.fp8.covers(layer_of_model(index), spec_.layers) ? setup_.fp8 : Fp8Setup{};
  Layer made;
  const std::int64_t h = spec_.hidden;
  made.norm1 = make_norm(tape_, name + ".norm1", spec_, h, cut_.type);
  make_attention(made, name, fp8);
  made.norm2 = make_norm(tape_, name + ".norm2", spec_, h, cut_.type);
  if (spec_.has_experts(layer_of_model(index))) {
    made.experts = make_rank_experts(tape_, name, spec_, expert_cut_, cut_.type);
    made.shared = make_shared_expert(tape_, name, spec_, cut_);
    layers_.push_back(std::move(made));
    return;
  }
  made.feed_in = make_linear(tape_, name + ".feed", h, part(spec_.ffn_in_width()), spec_.mlp_bias, cut_.type, fp8);
  made.feed_out = make_linear(tape_, name + ".feed.out", part(spec_.ffn), h, spec_.mlp_bias, cut_.type, fp8);
  layers_.push_back(std::move(made));
}

void MegatronStage::make_head() {
  const std::int64_t h = spec_.hidden;
  final_norm_ = make_norm(tape_, "final norm", spec_, h, cut_.type);
  if (spec_.head == HeadKind::kMaskedToken) {
    // BERT's head: two sentences in order or not, and hidden tokens.
    transform_ = make_linear(tape_, "transform", h, h, true, cut_.type);
    transform_norm_ = make_norm(tape_, "transform norm", spec_, h, cut_.type);
    output_bias_ = &tape_.parameter("output bias", {vocabulary_}, cut_.type);
    pooler_ = make_linear(tape_, "pooler", h, h, true, cut_.type);
  }
  // A tied matrix is there once more on the last of several stages.
  output_ = spec_.tied_head && tokens_ != nullptr ? tokens_ : &tape_.parameter("output", {vocabulary_, h}, cut_.type);
}

Tensor MegatronStage::received() {
  Tensor leaf = tape_.empty({cut_.stream_rows(), spec_.hidden}, cut_.type);
  leaf.maker = std::make_shared<Node>();
  return leaf;
}

Tensor MegatronStage::embed() {
  tape_.at("embedding");
  const Tensor indices = tape_.empty({cut_.rows()}, kIndexType);
  Tensor x = embedding(tape_, indices, *tokens_);
  if (positions_ != nullptr) x = add(tape_, x, embedding(tape_, tape_.empty({cut_.rows()}, kIndexType), *positions_));
  if (types_ != nullptr) x = add(tape_, x, embedding(tape_, indices, *types_));
  if (cut_.sequence_parallel) {
    Tensor own = tape_.empty({cut_.stream_rows(), spec_.hidden}, cut_.type);
    x = tape_.record(std::move(own), {&x}, [whole = x.shape, type = cut_.type](Tape& t, Tensors) {
      Tensors results;
      results.push_back(t.empty(whole, type));
      return results;
    });
  }
  return dropout(tape_, x, cut_.dropout);
}

/// A mixture's result is there before the shared expert's is added (moe_layer.py computes the shared one first, and holds it meanwhile).
Tensor MegatronStage::mixture(const Tensor& rows, const Layer& weights) {
  if (!weights.shared.exists()) return rank_experts(tape_, rows, weights.experts, spec_, cut_, expert_cut_);
  const Tensor shared = shared_expert(tape_, rows, weights.shared, spec_, cut_);
  return add(tape_, rank_experts(tape_, rows, weights.experts, spec_, cut_, expert_cut_), shared);
}

RankHeads MegatronStage::heads(const Tensor& normed, const Tensor& qkv, const Layer& weights) {
  if (weights.latent.exists()) return rank_latent_heads(tape_, normed, weights.latent, spec_, cut_);
  return attention_heads(tape_, qkv, weights.head_norms, spec_, cut_);
}

Tensor MegatronStage::layer(const Tensor& x, const Layer& weights) {
  const auto norm = [&](const Tensor& rows, const Weights& own) {
    return spec_.norm == NormKind::kLayerNorm ? layer_norm(tape_, rows, own) : fused_rms_norm(tape_, rows, *own.weight);
  };
  // What a local of the layer names lives until another value has its name, or the layer returns.
  Tensor normed = norm(x, weights.norm1);
  Tensor inner = weights.latent.exists() ? Tensor{} : column_parallel(tape_, normed, weights.qkv, cut_);
  inner = core_attention(tape_, heads(normed, std::exchange(inner, {}), weights), spec_, cut_);  // values are a view of the product meanwhile
  const Tensor attended = row_parallel(tape_, std::exchange(inner, {}), weights.projection, cut_);
  const Tensor middle = bias_dropout_add(tape_, attended, weights.projection.bias, x, cut_.dropout);
  normed = norm(middle, weights.norm2);
  if (weights.experts.exist()) {
    return bias_dropout_add(tape_, mixture(normed, weights), nullptr, middle, cut_.dropout);
  }
  inner = column_parallel(tape_, normed, weights.feed_in, cut_);
  inner = fused_activation(tape_, inner, part(spec_.ffn));
  inner = row_parallel(tape_, inner, weights.feed_out, cut_);
  return bias_dropout_add(tape_, std::exchange(inner, {}), weights.feed_out.bias, middle, cut_.dropout);
}

Tensor MegatronStage::head(const Tensor& x) {
  tape_.at("head");
  Tensor rows = spec_.norm == NormKind::kLayerNorm ? layer_norm(tape_, x, final_norm_) : fused_rms_norm(tape_, x, *final_norm_.weight);
  if (transform_.weight != nullptr) rows = layer_norm(tape_, from_input(tape_, linear(tape_, rows, transform_)), transform_norm_);
  const Tensor logits = column_parallel(tape_, rows, {.weight = output_, .bias = output_bias_}, cut_);
  rows = {};
  tape_.at("loss");
  return parallel_cross_entropy(tape_, logits);
}

/// Layers begin to end of this stage, one after another.
Tensor MegatronStage::layers(Tensor x, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    tape_.at(fmt::format("block {}", i));
    x = layer(x, layers_[static_cast<std::size_t>(i)]);
  }
  return x;
}

/// Checkpoints of as many layers of a chunk as one stands for, the last of what is left (recompute-method uniform, whose
/// recompute-num-layers that is: _checkpointed_forward of megatron/core/transformer/transformer_block.py).
Tensor MegatronStage::forward(const Tensor& input, std::int64_t chunk) {
  Tensor x = is_first(chunk) ? embed() : input;
  const std::int64_t begin = chunk * layers_a_chunk_, end = begin + layers_a_chunk_;
  const bool checkpoints = setup_.recomputation == Recomputation::kFull || setup_.recomputation == Recomputation::kEvery;
  const std::int64_t every = setup_.recomputation == Recomputation::kEvery ? setup_.every : 1;
  if (!checkpoints) x = layers(std::move(x), begin, end);
  for (std::int64_t first = begin; checkpoints && first < end; first += every) {
    const std::int64_t last = std::min(first + every, end);
    tape_.at(fmt::format("block {}", first));
    x = checkpoint(tape_, x, [this, first, last](const Tensor& rows) { return layers(rows, first, last); });
  }
  return is_last(chunk) ? head(std::exchange(x, {})) : x;
}

}  // namespace plimsoll
