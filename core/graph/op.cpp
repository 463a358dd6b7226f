#include "core/graph/op.h"

#include <array>
#include <utility>

namespace plimsoll {
namespace {

constexpr std::array<std::pair<OpKind, std::string_view>, 62> kKinds{{
    {OpKind::kEmbedding, "embedding"},
    {OpKind::kClassToken, "class_token"},
    {OpKind::kFirstToken, "first_token"},
    {OpKind::kNorm, "norm"},
    {OpKind::kLinear, "linear"},
    {OpKind::kHeadNorm, "head_norm"},
    {OpKind::kRope, "rope"},
    {OpKind::kAttention, "attention"},
    {OpKind::kDequantize, "dequantize"},
    {OpKind::kAdd, "add"},
    {OpKind::kActivation, "activation"},
    {OpKind::kCrossEntropy, "cross_entropy"},
    {OpKind::kLoss, "loss"},
    {OpKind::kEmbeddingBackward, "embedding_backward"},
    {OpKind::kClassTokenBackward, "class_token_backward"},
    {OpKind::kFirstTokenBackward, "first_token_backward"},
    {OpKind::kNormBackward, "norm_backward"},
    {OpKind::kLinearBackwardInput, "linear_backward_input"},
    {OpKind::kLinearBackwardWeight, "linear_backward_weight"},
    {OpKind::kRopeBackward, "rope_backward"},
    {OpKind::kHeadNormBackward, "head_norm_backward"},
    {OpKind::kAttentionBackward, "attention_backward"},
    {OpKind::kActivationBackward, "activation_backward"},
    {OpKind::kRouter, "router"},
    {OpKind::kDispatch, "dispatch"},
    {OpKind::kExpertLinear, "expert_linear"},
    {OpKind::kExpertDropout, "expert_dropout"},
    {OpKind::kCombine, "combine"},
    {OpKind::kExpertBalance, "expert_balance"},
    {OpKind::kCombineBackward, "combine_backward"},
    {OpKind::kExpertLinearBackwardInput, "expert_linear_backward_input"},
    {OpKind::kExpertLinearBackwardWeight, "expert_linear_backward_weight"},
    {OpKind::kDispatchBackward, "dispatch_backward"},
    {OpKind::kRouterBackward, "router_backward"},
    {OpKind::kAccumulate, "accumulate"},
    {OpKind::kSquaredNorm, "squared_norm"},
    {OpKind::kClipFactor, "clip_factor"},
    {OpKind::kSgd, "sgd"},
    {OpKind::kMomentum, "momentum"},
    {OpKind::kAdam, "adam"},
    {OpKind::kLion, "lion"},
    {OpKind::kAdam8bit, "adam8bit"},
    {OpKind::kAdafactor, "adafactor"},
    {OpKind::kSm3, "sm3"},
    {OpKind::kLamb, "lamb"},
    {OpKind::kLars, "lars"},
    {OpKind::kAdamW, "adamw"},
    {OpKind::kMuon, "muon"},
    {OpKind::kShareRouting, "share_routing"},
    {OpKind::kGatherRoutings, "gather_routings"},
    {OpKind::kToExperts, "to_experts"},
    {OpKind::kFromExperts, "from_experts"},
    {OpKind::kKeysValues, "keys_values"},
    {OpKind::kAttentionStep, "attention_step"},
    {OpKind::kAttentionStepBackward, "attention_step_backward"},
    {OpKind::kKeysValuesBackward, "keys_values_backward"},
    {OpKind::kDistanceBias, "distance_bias"},
    {OpKind::kBiasedAttention, "biased_attention"},
    {OpKind::kCrossAttention, "cross_attention"},
    {OpKind::kDistanceBiasBackward, "distance_bias_backward"},
    {OpKind::kBiasedAttentionBackward, "biased_attention_backward"},
    {OpKind::kCrossAttentionBackward, "cross_attention_backward"},
}};
constexpr std::array<std::pair<Phase, std::string_view>, 4> kPhases{
    {{Phase::kLoad, "load"}, {Phase::kForward, "forward"}, {Phase::kBackward, "backward"}, {Phase::kOptimizer, "optimizer"}}};

tl::unexpected<Error> unknown(std::string_view sort, std::string_view text) {
  return fail({.kind = ErrorKind::kUnknownName,
               .what = "unknown " + std::string(sort) + " '" + std::string(text) + "'",
               .where = {},
               .remedy = {}});
}

}  // namespace

bool is_product(OpKind kind) {
  switch (kind) {
    case OpKind::kLinear:
    case OpKind::kLinearBackwardInput:
    case OpKind::kLinearBackwardWeight:
    case OpKind::kExpertLinear:
    case OpKind::kExpertLinearBackwardInput:
    case OpKind::kExpertLinearBackwardWeight: return true;
    default: return false;
  }
}

bool attends_forward(OpKind kind) {
  return kind == OpKind::kAttention || kind == OpKind::kAttentionStep || kind == OpKind::kBiasedAttention ||
         kind == OpKind::kCrossAttention;
}

bool attends_backward(OpKind kind) {
  return kind == OpKind::kAttentionBackward || kind == OpKind::kAttentionStepBackward ||
         kind == OpKind::kBiasedAttentionBackward || kind == OpKind::kCrossAttentionBackward;
}

bool is_update(OpKind kind) {
  switch (kind) {
    case OpKind::kSgd:
    case OpKind::kMomentum:
    case OpKind::kAdam:
    case OpKind::kLion:
    case OpKind::kAdam8bit:
    case OpKind::kAdafactor:
    case OpKind::kSm3:
    case OpKind::kLamb:
    case OpKind::kLars:
    case OpKind::kAdamW:
    case OpKind::kMuon: return true;
    default: return false;
  }
}

std::string_view to_text(OpKind kind) {
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return name;
  }
  return "?";
}

std::string_view to_text(Phase phase) {
  for (const auto& [known, name] : kPhases) {
    if (known == phase) return name;
  }
  return "?";
}

Result<OpKind> parse_op_kind(std::string_view text) {
  for (const auto& [kind, name] : kKinds) {
    if (name == text) return kind;
  }
  return unknown("kernel", text);
}

Result<Phase> parse_phase(std::string_view text) {
  for (const auto& [phase, name] : kPhases) {
    if (name == text) return phase;
  }
  return unknown("phase", text);
}

}  // namespace plimsoll
