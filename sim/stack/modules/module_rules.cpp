#include "sim/stack/modules/module_rules.h"

#include <cstdlib>

#include "sim/stack/sequence_ranks.h"

namespace plimsoll {
namespace {

/// Families whose query, key and value come from one layer in transformers.
bool projects_at_once(Family family) {
  return family == Family::kGpt2 || family == Family::kBloom || family == Family::kGptNeoX || family == Family::kFalcon ||
         family == Family::kMpt || family == Family::kQwen || family == Family::kPhi3 || family == Family::kGptBigCode;
}

bool two_byte_compute(Precision precision) { return precision != Precision::kFp32 && precision != Precision::kFp64; }

bool has_flash(const GpuEntry& gpu, Precision precision) {
  return two_byte_compute(precision) && std::strtod(gpu.compute_capability.c_str(), nullptr) >= 8.0;
}

AttentionKernel fastest_attention(const GpuEntry& gpu, Precision precision) {
  return has_flash(gpu, precision) ? AttentionKernel::kFlash : AttentionKernel::kEfficient;
}

/// What a kernel keeps is told of FlashAttention for cuDNN's too.
AttentionKernel as_kept(AttentionKernel kernel) { return kernel == AttentionKernel::kCudnn ? AttentionKernel::kFlash : kernel; }

bool is_encoded(const AdapterSpec& adapter) {
  return adapter.exists() && (adapter.base == BaseStorage::kInt8 || adapter.base == BaseStorage::kNf4);
}

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

}  // namespace

ModuleRules module_rules(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  ModuleRules rules;
  const bool unsloth = setup.modules == ModuleStyle::kUnsloth;
  const bool hugging_face = setup.modules == ModuleStyle::kHuggingFace || unsloth;
  const bool rms = spec.norm != NormKind::kLayerNorm;
  // PyTorch's fused attention knows none of these.
  const bool eager_alone = spec.score_cap > 0 || spec.sinks || spec.positions == PositionKind::kDistance;
  rules.prepared = prepares_kbit(setup) && is_encoded(recipe.adapter);
  // Without autocast queries come in fp32 then, as the stream is.
  const Precision asked = rules.prepared && recipe.precision == Precision::kBf16 ? Precision::kFp32 : recipe.precision;
  rules.attention = as_kept(setup.attention.value_or(eager_alone ? AttentionKernel::kEager : fastest_attention(gpu, asked)));
  rules.dropout = setup.dropout.value_or(family_dropout(spec, setup.modules));
  rules.embedding_dropout = spec.family == Family::kOpt ? 0 : rules.dropout;
  const bool keeps_shares = spec.family == Family::kTransfoXl && !is_large_transfo_xl(spec);
  rules.attention_dropout = keeps_shares || (!setup.dropout && spec.family == Family::kOpt) ? 0 : rules.dropout;
  rules.split_projections = hugging_face ? !projects_at_once(spec.family) : setup.modules == ModuleStyle::kTorchTune;
  if (rms && (hugging_face || setup.modules == ModuleStyle::kTorchTune)) rules.norm = NormCode::kComposite;
  // These multiply by the weight before they go back to the narrow type.
  const bool wide_weight = spec.norms_behind() || spec.norm == NormKind::kRmsNormPlusOne || spec.family == Family::kGptOss;
  if (rms && hugging_face && wide_weight) rules.norm = NormCode::kInFp32;
  if (rms && setup.modules == ModuleStyle::kLitGpt) rules.norm = NormCode::kInFp32;
  if (hugging_face && spec.family == Family::kCohere) rules.norm = NormCode::kCentredInFp32;
  if (hugging_face && (spec.family == Family::kGpt2 || spec.family == Family::kGptJ)) rules.activation = ActivationCode::kNewGelu;
  if (setup.written_gelu) rules.activation = ActivationCode::kNewGelu;
  const bool grouped = spec.kv_heads < spec.heads;
  rules.repeats_heads = grouped && (rules.attention != AttentionKernel::kFlash || setup.modules == ModuleStyle::kTorchTune ||
                                    setup.modules == ModuleStyle::kLitGpt);
  rules.mask_as_sum = hugging_face;
  rules.masks_window = hugging_face && !unsloth && !shares_sequence(setup) && spec.slides_over(recipe.sequence) && setup.attention != AttentionKernel::kFlash &&
                       rules.attention != AttentionKernel::kEager;
  const bool capped_by_hand = setup.modules == ModuleStyle::kLitGpt && spec.score_cap > 0;
  const bool casts = hugging_face && spec.positions == PositionKind::kRope && spec.family != Family::kLlama4;
  rules.softmax_in_fp32 = casts || capped_by_hand;
  rules.logits_to_fp32 = (hugging_face || setup.modules == ModuleStyle::kTorchTune) && spec.head == HeadKind::kNextToken && !setup.half_logits;
  rules.holds_scores = setup.holds_scores;
  rules.names_halves = setup.modules == ModuleStyle::kLitGpt;
  rules.fused_loss = setup.modules == ModuleStyle::kMosaic;
  rules.holds_logits = setup.holds_logits.value_or(setup.modules == ModuleStyle::kNanoGpt || setup.modules == ModuleStyle::kLitGpt);
  // torchtune and LitGPT make adapters with the model, in the default type of that moment.
  rules.narrow_adapters = setup.modules == ModuleStyle::kTorchTune || setup.modules == ModuleStyle::kLitGpt;
  rules.fused_pointwise = setup.compile;
  rules.liger = setup.liger;
  rules.unsloth = unsloth;
  rules.scores_first = setup.modules == ModuleStyle::kTorchTune;
  // transformers' Llama 4 multiplies all tokens by all experts.
  rules.grouped_experts = setup.grouped_experts.value_or(rules.scores_first) && (!hugging_face || spec.family != Family::kLlama4);
  rules.tiled = setup.tiled_mlp;
  rules.adds_products = std::strtod(gpu.compute_capability.c_str(), nullptr) >= 8.0;
  // Where a norm stands behind a half of a block, the residual stream asks for the result's gradient too.
  rules.norms_in_place = !spec.norms_behind() && !(unsloth && spec.norm == NormKind::kRmsNormPlusOne);
  // nanoGPT's model computes the loss itself, and returns the logits with it; where the whole is said to be compiled, the loss alone.
  const bool writes_loss = setup.compile && setup.modules == ModuleStyle::kNanoGpt && spec.head == HeadKind::kNextToken;
  rules.returns_logits = writes_loss && !setup.compile_loss;
  rules.compiled_loss = setup.compile_loss || writes_loss;
  return rules;
}

}  // namespace plimsoll
