#include "sim/stack/modules/module_rules.h"

#include <cstdlib>

#include "sim/stack/check_adapters.h"
#include "sim/stack/sequence_ranks.h"

namespace plimsoll {
namespace {

/// Families whose query, key and value come from one layer in transformers.
bool projects_at_once(Family family) {
  return family == Family::kGpt2 || family == Family::kBloom || family == Family::kGptNeoX || family == Family::kFalcon ||
         family == Family::kMpt || family == Family::kQwen || family == Family::kPhi3 || family == Family::kGptBigCode;
}

/// Families whose "gelu_new" transformers writes out.
bool writes_gelu(Family family) { return family == Family::kGpt2 || family == Family::kGptJ || family == Family::kPhi; }

/// Whether transformers' written attention computes its shares in fp32, whatever the scores' type.
bool widens_softmax(const ModelSpec& spec) {
  const bool rotates = spec.positions == PositionKind::kRope && spec.family != Family::kLlama4;
  return rotates || spec.family == Family::kOpt || spec.family == Family::kBloom || spec.family == Family::kMpt || spec.family == Family::kVit;
}

bool two_byte_compute(Precision precision) { return precision != Precision::kFp32 && precision != Precision::kFp64; }

bool is_capability_8(const GpuEntry& gpu) { return std::strtod(gpu.compute_capability.c_str(), nullptr) >= 8.0; }

bool has_flash(const GpuEntry& gpu, Precision precision) { return two_byte_compute(precision) && is_capability_8(gpu); }

AttentionKernel fastest_attention(const GpuEntry& gpu, Precision precision) {
  return has_flash(gpu, precision) ? AttentionKernel::kFlash : AttentionKernel::kEfficient;
}

/// What a kernel keeps is told of FlashAttention for cuDNN's too.
AttentionKernel as_kept(AttentionKernel kernel) { return kernel == AttentionKernel::kCudnn ? AttentionKernel::kFlash : kernel; }

/// NVIDIA's configurations: the base model, 512 wide, drops 0.1 and no shares of attention, the large one, 1024 wide, 0.2 of both.
bool is_large_transfo_xl(const ModelSpec& spec) { return spec.hidden >= 1024; }

/// What the models' own configurations train with.
double family_dropout(const ModelSpec& spec, ModuleStyle style) {
  if (spec.is_conv_net()) return spec.conv.kind == ConvNetKind::kVgg ? 0.5 : 0;
  if (style == ModuleStyle::kMosaic || style == ModuleStyle::kTorchVision || style == ModuleStyle::kTimm) return 0;
  if (style == ModuleStyle::kNanoGpt) return 0;
  if (spec.family == Family::kTransfoXl) return is_large_transfo_xl(spec) ? 0.2 : 0.1;
  const bool drops = spec.family == Family::kGpt2 || spec.family == Family::kBert || spec.family == Family::kOpt || spec.family == Family::kT5 ||
                     spec.family == Family::kGptBigCode;
  return drops ? 0.1 : 0;
}

bool is_rms(const ModelSpec& spec) { return spec.norm != NormKind::kLayerNorm; }

/// Without autocast queries of a prepared base come in fp32, as the stream is.
AttentionKernel attention_of(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu, bool prepared) {
  // PyTorch's fused attention knows none of these.
  const bool eager_alone = writes_attention(spec, setup) || spec.score_cap > 0 || spec.sinks || spec.positions == PositionKind::kDistance;
  const Precision asked = prepared && recipe.precision == Precision::kBf16 ? Precision::kFp32 : recipe.precision;
  return as_kept(setup.attention.value_or(eager_alone ? AttentionKernel::kEager : fastest_attention(gpu, asked)));
}

void take_dropout(ModuleRules& rules, const ModelSpec& spec, const StackSetup& setup) {
  rules.dropout = setup.dropout.value_or(setup.preference.drops_nothing() ? 0 : family_dropout(spec, setup.modules));
  rules.embedding_dropout = spec.family == Family::kOpt ? 0 : rules.dropout;
  const bool keeps_shares = spec.family == Family::kTransfoXl && !is_large_transfo_xl(spec);
  rules.attention_dropout = keeps_shares || (!setup.dropout && spec.family == Family::kOpt) ? 0 : rules.dropout;
}

NormCode norm_of_transformers(const ModelSpec& spec) {
  if (spec.family == Family::kCohere) return NormCode::kCentredInFp32;
  if (!is_rms(spec)) return NormCode::kFused;
  // These multiply by the weight before they go back to the narrow type.
  const bool wide_weight = spec.norms_behind() || spec.norm == NormKind::kRmsNormPlusOne || spec.family == Family::kGptOss;
  return wide_weight ? NormCode::kInFp32 : NormCode::kComposite;
}

/// transformers' modules, as they are or with Unsloth's in some places.
void as_transformers(ModuleRules& rules, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  rules.unsloth = setup.modules == ModuleStyle::kUnsloth;
  rules.narrow_adapters = setup.narrow_adapters;
  rules.split_projections = !projects_at_once(spec.family);
  rules.norm = norm_of_transformers(spec);
  if (writes_gelu(spec.family)) rules.activation = ActivationCode::kNewGelu;
  rules.mask_as_sum = true;
  rules.masks_window = !rules.unsloth && !shares_sequence(setup) && spec.slides_over(recipe.sequence) &&
                       setup.attention != AttentionKernel::kFlash && rules.attention != AttentionKernel::kEager;
  rules.softmax_in_fp32 = widens_softmax(spec);
  rules.logits_to_fp32 = spec.head == HeadKind::kNextToken && !setup.half_logits;
  // Llama 4 multiplies all tokens by all experts.
  rules.grouped_experts = setup.grouped_experts.value_or(false) && spec.family != Family::kLlama4;
  rules.stacks_experts = !rules.unsloth && (rules.grouped_experts || spec.family == Family::kGptOss || spec.family == Family::kLlama4);
  // Where a norm stands behind a half of a block, the residual stream asks for the result's gradient too.
  rules.norms_in_place = !spec.norms_behind() && !(rules.unsloth && spec.norm == NormKind::kRmsNormPlusOne);
}

/// Adapters are made with the model, in the default type of that moment.
void as_torchtune(ModuleRules& rules, const ModelSpec& spec, const StackSetup& setup) {
  rules.split_projections = true;
  if (is_rms(spec)) rules.norm = NormCode::kComposite;
  rules.repeats_heads = spec.kv_heads < spec.heads;
  rules.logits_to_fp32 = spec.head == HeadKind::kNextToken && !setup.half_logits;
  rules.narrow_adapters = true;
  rules.scores_first = true;
  rules.grouped_experts = setup.grouped_experts.value_or(true);
}

/// Adapters as torchtune's.
void as_litgpt(ModuleRules& rules, const ModelSpec& spec, const StackSetup& setup) {
  if (is_rms(spec)) rules.norm = NormCode::kInFp32;
  rules.repeats_heads = spec.kv_heads < spec.heads;
  rules.softmax_in_fp32 = spec.score_cap > 0;
  rules.rejoins_heads = true;
  rules.names_halves = true;
  rules.holds_logits = setup.holds_logits.value_or(true);
  rules.narrow_adapters = true;
}

/// nanoGPT's model computes the loss itself, and returns the logits with it; where the whole is said to be compiled, the loss alone.
void as_nanogpt(ModuleRules& rules, const ModelSpec& spec, const StackSetup& setup) {
  rules.holds_logits = setup.holds_logits.value_or(true);
  const bool writes_loss = setup.compile && spec.head == HeadKind::kNextToken;
  rules.returns_logits = writes_loss && !setup.compile_loss;
  rules.compiled_loss = setup.compile_loss || writes_loss;
}

}  // namespace

bool writes_attention(const ModelSpec& spec, const StackSetup& setup) {
  return setup.modules == ModuleStyle::kHuggingFace && (spec.family == Family::kBloom || spec.family == Family::kMpt);
}

ModuleRules module_rules(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  ModuleRules rules;
  rules.prepared = prepares_kbit(setup) && is_encoded(recipe.adapter);
  rules.attention = attention_of(spec, recipe, setup, gpu, rules.prepared);
  rules.repeats_heads = spec.kv_heads < spec.heads && rules.attention != AttentionKernel::kFlash;
  take_dropout(rules, spec, setup);
  rules.adds_products = is_capability_8(gpu);
  rules.norms_in_place = !spec.norms_behind();
  rules.grouped_experts = setup.grouped_experts.value_or(false);
  rules.holds_scores = setup.holds_scores;
  rules.holds_logits = setup.holds_logits.value_or(false);
  rules.fused_pointwise = setup.compile;
  rules.compiled_loss = setup.compile_loss;
  rules.liger = setup.liger;
  rules.tiled = setup.tiled_mlp;
  switch (setup.modules) {
    case ModuleStyle::kHuggingFace:
    case ModuleStyle::kUnsloth: as_transformers(rules, spec, recipe, setup); break;
    case ModuleStyle::kTorchTune: as_torchtune(rules, spec, setup); break;
    case ModuleStyle::kLitGpt: as_litgpt(rules, spec, setup); break;
    case ModuleStyle::kNanoGpt: as_nanogpt(rules, spec, setup); break;
    case ModuleStyle::kMosaic: rules.fused_loss = true; break;
    default: break;
  }
  if (setup.written_gelu) rules.activation = ActivationCode::kNewGelu;
  return rules;
}

}  // namespace plimsoll
