#include "sim/stack/modules/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/model/adapter_parts.h"
#include "sim/stack/modules/rank_tokens.h"
#include "sim/stack/modules/unsloth_layers.h"
#include "sim/stack/operators/fused_linear_loss.h"
#include "sim/stack/operators/tiled_linear_loss.h"
#include "sim/stack/sequence_ranks.h"
#include "sim/stack/tensor_ranks.h"

namespace plimsoll {

namespace {

/// A tensor rank has its part. LitGPT's GPT has a head of its own, and a checkpoint without one gets a copy of the embedding's (litgpt/model.py, convert_hf_checkpoint.py).
ModelSpec as_written(ModelSpec spec, const StackSetup& setup) {
  if (setup.modules == ModuleStyle::kLitGpt) spec.tied_head = false;
  return part_of_rank(spec, setup);
}

}  // namespace

Transformer::Transformer(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup,
                         const ModuleRules& rules, DType weights, std::string prefix)
    : tape_(tape), spec_(as_written(spec, setup)), recipe_(recipe), setup_(setup), rules_(rules),
      tensor_ranks_(shares_layers(setup) ? setup.tensor_ranks : 1), prefix_(std::move(prefix)) {
  DenseMaker make{.tape = tape,
                        .adapter = recipe.adapter,
                        .dtype = rules.prepared ? DType::kFp32 : weights,
                        .compute = weights,
                        .adapters = rules.narrow_adapters ? weights : DType::kFp32,
                        .dropout = setup.preference.drops_nothing() ? 0 : setup.adapter_dropout,
                        .kind = setup.adapter,
                        .plain_scales = setup.plain_scales,
                        .whole_scales = is_fsdp(setup) && setup.modules != ModuleStyle::kTorchTune,
                        .older_bitsandbytes = setup.older_bitsandbytes,
                        .prefix = prefix_};
  make.shared = make_shared_matrices(make);
  make_embeddings(make);
  for (std::int64_t i = 0; i < spec.layers; ++i) {
    DenseMaker own = make;
    own.fp8 = setup.fp8.covers(i, spec.layers);
    blocks_.push_back(make_block(own, fmt::format("block {}", i), spec_, rules, spec.has_experts(i)));
  }
  make_head(make);
  if (setup.adapter.virtual_tokens > 0) prompt_ = &tape.parameter("prompt", {setup.adapter.virtual_tokens, spec.hidden}, make.adapters);
  if (rules.unsloth) scratch_ = decoding_scratch(tape, blocks_);
  if (setup.rotary_tables && spec.positions == PositionKind::kRope) make_rotary_tables(weights);
}

/// As wide and as high as the largest matrix beside which VeRA stands.
SharedMatrices Transformer::make_shared_matrices(const DenseMaker& make) {
  if (make.kind.method != AdapterMethod::kVera) return {};
  std::int64_t inputs = 0, outputs = 0;
  for (const AdapterPart& part : adapter_parts(spec_)) {
    if (!recipe_.adapter.has(part.target)) continue;
    inputs = std::max(inputs, part.inputs);
    outputs = std::max(outputs, part.outputs);
  }
  return {.down = &tape_.parameter("shared A", {recipe_.adapter.rank, inputs}, make.adapters, false),
          .up = &tape_.parameter("shared B", {outputs, recipe_.adapter.rank}, make.adapters, false)};
}

/// Cosines and sines, which FSDP does not share out.
void Transformer::make_rotary_tables(DType type) {
  for (std::int64_t i = 0; i < 2 * spec_.layers; ++i)
    rotary_tables_.push_back(tape_.empty({spec_.max_positions, spec_.head_dim}, type, Holding::kParameters));
}

void Transformer::make_embeddings(const DenseMaker& make) {
  if (spec_.reads_images()) {
    embeddings_.tokens = make.parameter("class token", {1, 1, spec_.hidden});
    embeddings_.positions = make.parameter("positions", {1, spec_.image.patches() + 1, spec_.hidden});
    embeddings_.patches = make.make_plain("patches", spec_.image.patch_width(), spec_.hidden, true);
    return;
  }
  embeddings_.frozen = make.parameter("tokens", {spec_.vocabulary, spec_.token_width()});
  embeddings_.tokens = make.kind.copies_embedding ? &tape_.parameter("tokens.copy", embeddings_.frozen->value.shape, make.dtype) : embeddings_.frozen;
  if (spec_.positions == PositionKind::kLearned) {
    embeddings_.positions = make.parameter("positions", {spec_.position_rows(), spec_.hidden});
  }
  if (spec_.embedding_width > 0) {
    embeddings_.widening = make.make_plain("widening", spec_.token_width(), spec_.hidden, false);
    head_.narrowing = make.make_plain("narrowing", spec_.hidden, spec_.token_width(), false);
  }
  if (spec_.token_types > 0) embeddings_.types = make.parameter("token types", {spec_.token_types, spec_.hidden});
  if (spec_.embedding_norm) embeddings_.norm = make_norm(make, "embedding norm", spec_, spec_.hidden);
}

void Transformer::make_head(const DenseMaker& make) {
  if (!spec_.post_norm) head_.final_norm = make_norm(make, "final norm", spec_, spec_.hidden);
  if (spec_.pooler) head_.pooler = make.make_plain("pooler", spec_.hidden, spec_.hidden, true);
  if (spec_.head == HeadKind::kMaskedToken) {
    head_.transform = make.make_plain("transform", spec_.hidden, spec_.hidden, true);
    head_.transform_norm = make_norm(make, "transform norm", spec_, spec_.hidden);
  }
  if (spec_.tied_head && spec_.head != HeadKind::kClass) {
    head_.output.weight = embeddings_.frozen;
    if (make.kind.copies_head) head_.output.weight = &tape_.parameter("output.copy", embeddings_.frozen->value.shape, make.dtype);
    if (spec_.head_bias) head_.output.bias = make.parameter("output bias", {spec_.outputs()});
  } else {
    head_.output = make.make_plain("output", spec_.hidden, spec_.outputs(), spec_.head_bias);
    if (make.kind.copies_head) head_.output.weight = &tape_.parameter("output.copy", head_.output.weight->value.shape, make.dtype);
  }
}

/// Where ranks share words, each has rows of its own and none for the others', and what they have is summed up.
Tensor Transformer::embed_words() {
  return own_tokens(tape_, embedding(tape_, indices({recipe_.micro_batch, recipe_.sequence}), *embeddings_.tokens), tensor_ranks_);
}

Tensor Transformer::embed() {
  const std::int64_t batch = recipe_.micro_batch;
  if (spec_.reads_images()) {
    const Tensor pixels = tape_.empty({batch, spec_.image.patches(), spec_.image.patch_width()},
                                      tape_.autocast() ? DType::kFp32 : embeddings_.tokens->value.dtype);
    Tensor x = linear(tape_, pixels, embeddings_.patches);
    x = concatenate(tape_, {embeddings_.tokens->use(), x}, 1);
    x.shape = {batch, spec_.image.patches() + 1, spec_.hidden};
    return dropout(tape_, add(tape_, x, embeddings_.positions->use()), rules_.embedding_dropout);
  }
  Tensor x = embed_words();
  if (prompt_ != nullptr) x = behind_prompt(x);
  if (embeddings_.widening.weight != nullptr) x = linear(tape_, x, embeddings_.widening);
  if (embeddings_.types != nullptr) x = add(tape_, x, embedding(tape_, indices({batch, tokens()}), *embeddings_.types));
  if (embeddings_.positions != nullptr)
    x = add(tape_, x, embedding(tape_, indices({1, tokens()}), *embeddings_.positions));
  if (spec_.embedding_scale != 1) x = scale(tape_, x);
  if (embeddings_.norm.weight != nullptr) x = layer_norm(tape_, x, embeddings_.norm);
  return dropout(tape_, x, rules_.embedding_dropout);
}

/// Rows of the prompt, looked up for every sequence, before those of its tokens.
Tensor Transformer::behind_prompt(const Tensor& x) {
  const Tensor rows = embedding(tape_, indices({recipe_.micro_batch, setup_.adapter.virtual_tokens}), *prompt_);
  return concatenate(tape_, {cast(tape_, rows, x.dtype), x}, 1);
}

/// A frozen model's first checkpoint would have nothing to differentiate: its input is made to ask for a gradient.
Tensor Transformer::asking(Tensor x) {
  if (!recipe_.adapter.exists() || setup_.recomputation == Recomputation::kNone) return x;
  if (!x.needs_gradient()) x.maker = std::make_shared<Node>();
  return x;
}

Tensor Transformer::run_block(std::size_t index, const Tensor& x, const BlockContext& context) {
  at(fmt::format("block {}", index));
  const BlockWeights& weights = (bare_ ? bare_blocks_ : blocks_)[index];
  if (!spec_.slides_over(recipe_.sequence) || !spec_.has_window(static_cast<std::int64_t>(index)))
    return transformer_block(tape_, x, weights, context);
  BlockContext own = context;
  if (rules_.masks_window) own.mask = context.local_mask;
  const bool flash2 = setup_.modules == ModuleStyle::kHuggingFace && setup_.attention == AttentionKernel::kFlash;
  own.window = flash2 ? spec_.window : 0;
  return transformer_block(tape_, x, weights, own);
}

Tensor Transformer::stack_of_blocks(Tensor x, const BlockContext& context) {
  if (setup_.recomputation == Recomputation::kNone || !tape_.grad_enabled()) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) x = run_block(i, x, context);
    return x;
  }
  const auto every = static_cast<std::size_t>(
      setup_.recomputation == Recomputation::kEvery ? std::max<std::int64_t>(1, setup_.every) : 1);
  // Unsloth leaves the last block's input where it is: backward begins there.
  for (std::size_t first = 0; first < blocks_.size(); first += every) {
    const std::size_t last = std::min(first + every, blocks_.size());
    Tensor (*keep)(Tape&, const Tensor&, const std::function<Tensor(const Tensor&)>&, bool) = checkpoint;
    if (setup_.recomputation == Recomputation::kSelective) keep = selective_checkpoint;
    x = keep(tape_, x, [this, first, last, context](const Tensor& input) {
      Tensor inner = input;
      for (std::size_t i = first; i < last; ++i) inner = run_block(i, inner, context);
      if (rules_.unsloth) held_ = inner.detached();
      return inner;
    }, setup_.activations != Home::kDevice && !(rules_.unsloth && last == blocks_.size()));
  }
  return x;
}

Tensor Transformer::head(const Tensor& x, const BlockContext& context) {
  at("head");
  Tensor rows = !spec_.post_norm ? norm_layer(tape_, x, head_.final_norm, context) : x;
  if (spec_.head == HeadKind::kClass) {
    rows = narrow(tape_, rows, 1, 1);
    if (head_.pooler.weight != nullptr) rows = from_result(tape_, linear(tape_, rows, head_.pooler));
    return linear(tape_, dropout(tape_, rows, rules_.dropout), head_.output);
  }
  if (spec_.head == HeadKind::kMaskedToken && setup_.predicted_positions > 0)
    rows = contiguous(tape_, narrow(tape_, rows, 1, setup_.predicted_positions));
  if (head_.transform.weight != nullptr)
    rows = layer_norm(tape_, from_input(tape_, linear(tape_, rows, head_.transform)), head_.transform_norm);
  if (head_.narrowing.weight != nullptr) rows = linear(tape_, rows, head_.narrowing);
  rows = all_tokens(tape_, rows, tensor_ranks_);
  return capped(tape_, linear(tape_, rows, head_.output), spec_.logit_cap);
}

/// The logits of all chunks are made, then each meets the loss by itself; the loop holds all of them until the loss is there. What the
/// losses keep stays until backward: all log-probabilities in fp32, or the logits as they are where a compiler writes the loss.
Tensor Transformer::chunked_loss(const Tensor& x, const BlockContext& context) {
  at("head");
  Tensor rows = !spec_.post_norm ? norm_layer(tape_, x, head_.final_norm, context) : x;
  rows = view(tape_, rows, {rows.elements() / spec_.hidden, spec_.hidden});
  Tensors logits;
  for (const Tensor& part : split_rows(tape_, rows, setup_.loss_chunks)) logits.push_back(capped(tape_, linear(tape_, part, head_.output), spec_.logit_cap));
  rows = {};
  at("loss");
  Tensor sum;
  for (const Tensor& chunk : logits) {
    const Tensor loss = rules_.compiled_loss ? compiled_cross_entropy(tape_, chunk)
                                             : cross_entropy(tape_, cast(tape_, chunk, DType::kFp32));
    sum = sum ? add(tape_, sum, loss) : loss;
  }
  return sum;
}

/// The head and the loss at once: logits are never whole.
Tensor Transformer::fused_loss(const Tensor& x, const BlockContext& context) {
  at("head");
  const Tensor rows = norm_layer(tape_, x, head_.final_norm, context);
  if (rules_.unsloth) return recomputed_linear_cross_entropy(tape_, rows, *head_.output.weight);
  return fused_linear_cross_entropy(tape_, rows, *head_.output.weight, rules_.adds_products);
}

/// Rows whose labels count: prompts' do not.
std::int64_t Transformer::scored_rows() const { return recipe_.micro_batch * (tokens() - std::min(setup_.preference.prompt, tokens() - 1)); }

/// The same tile by tile, of such rows. The body's result has a name until the loss is there.
Tensor Transformer::tiled_loss(const Tensor& x, const BlockContext& context) {
  at("head");
  const Tensor whole = !spec_.post_norm ? norm_layer(tape_, x, head_.final_norm, context) : x;
  const Tensor rows = gather_rows(tape_, whole, scored_rows());
  return tiled_linear_cross_entropy(tape_, rows, *head_.output.weight);
}

Tensor Transformer::rotation(DType compute) {
  if (spec_.positions != PositionKind::kRope) return {};
  return tape_.empty({1, 1, tokens(), spec_.latent.exists() ? spec_.latent.rope_dim : spec_.head_dim}, compute);
}

/// Eager attention adds a mask of the type that scores have; the other kernels know it.
Tensor Transformer::mask(std::int64_t sequence) {
  const bool explicit_mask = rules_.mask_as_sum && rules_.attention == AttentionKernel::kEager && !spec_.reads_images();
  if (!explicit_mask) return {};
  const std::int64_t queries = spec_.causal ? sequence : 1;  // an encoder's hides padding alone, from all queries alike
  return tape_.empty({recipe_.micro_batch, 1, queries, sequence}, embeddings_.tokens->value.dtype);
}

/// Of blocks with a window: as the others' in eager code, of truth values for fused attention.
Tensor Transformer::local_mask(std::int64_t sequence) {
  if (rules_.masks_window) return tape_.empty({recipe_.micro_batch, 1, sequence, sequence}, kMaskType);
  return spec_.full_every > 0 ? mask(sequence) : Tensor{};
}

BlockContext Transformer::context_of(DType stream) {
  const std::int64_t sequence = spec_.reads_images() ? spec_.image.patches() + 1 : tokens();
  return {.spec = spec_, .rules = rules_, .rotation = rotation(stream), .mask = mask(sequence), .local_mask = local_mask(sequence),
          .batch = recipe_.micro_batch, .sequence = sequence, .document = setup_.document_tokens, .head_ranks = exchanges_heads(setup_) ? setup_.context_ranks : 1,
          .ring_ranks = passes_keys_round(setup_) ? setup_.context_ranks : 1, .tensor_ranks = tensor_ranks_};
}

/// Everything from the tokens to the loss.
void Transformer::run_forward(Loss& result) {
  Tensor x = asking(embed());
  BlockContext context = context_of(x.dtype);
  x = stack_of_blocks(std::move(x), context);
  context.mask = context.local_mask = {};  // names of the body's, which has returned when the head begins
  if (rules_.liger || rules_.unsloth) {
    result.loss = fused_loss(std::exchange(x, {}), context);
    return;
  }
  if (setup_.fused_head) {
    result.loss = tiled_loss(std::exchange(x, {}), context);
    return;
  }
  if (setup_.loss_chunks > 1) {
    result.loss = chunked_loss(std::exchange(x, {}), context);
    return;
  }
  result.logits = head(std::exchange(x, {}), context);
  at("loss");
  if (rules_.compiled_loss) {
    result.loss = tensor_ranks_ > 1 ? compiled_divided_cross_entropy(tape_, result.logits, tensor_ranks_)
                                    : compiled_cross_entropy(tape_, result.logits, rules_.returns_logits);
    if (!rules_.holds_logits) result.logits = {};
    return;
  }
  const Tensor wide = rules_.logits_to_fp32 ? cast(tape_, result.logits, DType::kFp32) : result.logits;
  result.logits = rules_.holds_logits ? wide : Tensor{};
  result.loss = loss_of(wide);
}

Tensor Transformer::loss_of(const Tensor& logits) {
  if (tensor_ranks_ > 1) return divided_cross_entropy(tape_, logits, tensor_ranks_);
  return rules_.fused_loss ? fused_cross_entropy(tape_, logits) : cross_entropy(tape_, logits);
}

StackModel::Loss Transformer::loss(std::optional<DType> autocast) {
  Loss result;
  tape_.phase(Phase::kForward);
  held_ = {};
  at("embedding");
  const Tensor batch = indices({recipe_.micro_batch, std::max<std::int64_t>(1, recipe_.sequence)});
  const Tensor labels = indices({recipe_.micro_batch, std::max<std::int64_t>(1, recipe_.sequence)});
  tape_.with_autocast(autocast, [&] {
    run_forward(result);
    if (setup_.adapter.method == AdapterMethod::kAdalora) result.loss = with_orthogonality(tape_, result.loss);
  });
  return result;
}

void Transformer::score(std::optional<DType> autocast, bool without_adapters) {
  if (without_adapters && bare_blocks_.empty()) {
    for (const BlockWeights& block : blocks_) bare_blocks_.push_back(without_adapter(block));
  }
  bare_ = without_adapters;
  tape_.without_grad([&] { loss(autocast); });
  bare_ = false;
}

}  // namespace plimsoll
