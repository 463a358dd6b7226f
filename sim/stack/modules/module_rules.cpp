#include "sim/stack/modules/module_rules.h"

#include <cstdlib>

namespace plimsoll {
namespace {

bool two_byte_compute(Precision precision) { return precision != Precision::kFp32 && precision != Precision::kFp64; }

bool has_flash(const GpuEntry& gpu, Precision precision) {
  return two_byte_compute(precision) && std::strtod(gpu.compute_capability.c_str(), nullptr) >= 8.0;
}

AttentionKernel fastest_attention(const GpuEntry& gpu, Precision precision) {
  return has_flash(gpu, precision) ? AttentionKernel::kFlash : AttentionKernel::kEfficient;
}

/// What the models' own configurations train with.
double family_dropout(const ModelSpec& spec, ModuleStyle style) {
  if (style == ModuleStyle::kMosaic || style == ModuleStyle::kTorchVision || style == ModuleStyle::kTimm) return 0;
  if (style == ModuleStyle::kNanoGpt) return 0;
  return spec.family == Family::kGpt2 || spec.family == Family::kBert ? 0.1 : 0;
}

}  // namespace

ModuleRules module_rules(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  ModuleRules rules;
  const bool hugging_face = setup.modules == ModuleStyle::kHuggingFace;
  const bool rms = spec.norm != NormKind::kLayerNorm;
  rules.attention = setup.attention.value_or(fastest_attention(gpu, recipe.precision));
  rules.dropout = setup.dropout.value_or(family_dropout(spec, setup.modules));
  rules.split_projections = hugging_face ? spec.family != Family::kGpt2 : setup.modules == ModuleStyle::kTorchTune;
  if (rms && (hugging_face || setup.modules == ModuleStyle::kTorchTune)) rules.norm = NormCode::kComposite;
  if (rms && setup.modules == ModuleStyle::kLitGpt) rules.norm = NormCode::kInFp32;
  if (hugging_face && spec.family == Family::kGpt2) rules.activation = ActivationCode::kNewGelu;
  const bool grouped = spec.kv_heads < spec.heads;
  rules.repeats_heads = grouped && (rules.attention != AttentionKernel::kFlash || setup.modules == ModuleStyle::kTorchTune ||
                                    setup.modules == ModuleStyle::kLitGpt);
  rules.mask_as_sum = hugging_face;
  rules.softmax_in_fp32 = hugging_face && spec.positions == PositionKind::kRope;
  rules.logits_to_fp32 = (hugging_face || setup.modules == ModuleStyle::kTorchTune) && spec.head == HeadKind::kNextToken;
  rules.holds_logits = setup.modules == ModuleStyle::kNanoGpt || setup.modules == ModuleStyle::kLitGpt;
  rules.fused_pointwise = setup.compile;
  return rules;
}

}  // namespace plimsoll
