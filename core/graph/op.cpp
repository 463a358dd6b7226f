#include "core/graph/op.h"

#include <array>
#include <utility>

#include "core/graph/kind_table.h"
#include "core/graph/op_family.h"

namespace plimsoll {
namespace {

struct KnownKind {
  std::string_view name = "?";
  OpFamily family = OpFamily::kLayer;
};

constexpr KindTable<KnownKind> kKinds{{{
    {OpKind::kEmbedding, {"embedding", OpFamily::kLayer}},
    {OpKind::kClassToken, {"class_token", OpFamily::kLayer}},
    {OpKind::kFirstToken, {"first_token", OpFamily::kLayer}},
    {OpKind::kNorm, {"norm", OpFamily::kLayer}},
    {OpKind::kLinear, {"linear", OpFamily::kLayer}},
    {OpKind::kHeadNorm, {"head_norm", OpFamily::kLayer}},
    {OpKind::kRope, {"rope", OpFamily::kLayer}},
    {OpKind::kAttention, {"attention", OpFamily::kAttention}},
    {OpKind::kDequantize, {"dequantize", OpFamily::kLayer}},
    {OpKind::kAdd, {"add", OpFamily::kLayer}},
    {OpKind::kActivation, {"activation", OpFamily::kLayer}},
    {OpKind::kCrossEntropy, {"cross_entropy", OpFamily::kLayer}},
    {OpKind::kLoss, {"loss", OpFamily::kLayer}},
    {OpKind::kEmbeddingBackward, {"embedding_backward", OpFamily::kLayer}},
    {OpKind::kClassTokenBackward, {"class_token_backward", OpFamily::kLayer}},
    {OpKind::kFirstTokenBackward, {"first_token_backward", OpFamily::kLayer}},
    {OpKind::kNormBackward, {"norm_backward", OpFamily::kLayer}},
    {OpKind::kLinearBackwardInput, {"linear_backward_input", OpFamily::kLayer}},
    {OpKind::kLinearBackwardWeight, {"linear_backward_weight", OpFamily::kLayer}},
    {OpKind::kRopeBackward, {"rope_backward", OpFamily::kLayer}},
    {OpKind::kHeadNormBackward, {"head_norm_backward", OpFamily::kLayer}},
    {OpKind::kAttentionBackward, {"attention_backward", OpFamily::kAttention}},
    {OpKind::kActivationBackward, {"activation_backward", OpFamily::kLayer}},
    {OpKind::kRouter, {"router", OpFamily::kExperts}},
    {OpKind::kDispatch, {"dispatch", OpFamily::kExperts}},
    {OpKind::kExpertLinear, {"expert_linear", OpFamily::kExperts}},
    {OpKind::kExpertDropout, {"expert_dropout", OpFamily::kExperts}},
    {OpKind::kCombine, {"combine", OpFamily::kExperts}},
    {OpKind::kExpertBalance, {"expert_balance", OpFamily::kExperts}},
    {OpKind::kCombineBackward, {"combine_backward", OpFamily::kExperts}},
    {OpKind::kExpertLinearBackwardInput, {"expert_linear_backward_input", OpFamily::kExperts}},
    {OpKind::kExpertLinearBackwardWeight, {"expert_linear_backward_weight", OpFamily::kExperts}},
    {OpKind::kDispatchBackward, {"dispatch_backward", OpFamily::kExperts}},
    {OpKind::kRouterBackward, {"router_backward", OpFamily::kExperts}},
    {OpKind::kAccumulate, {"accumulate", OpFamily::kGradient}},
    {OpKind::kSquaredNorm, {"squared_norm", OpFamily::kGradient}},
    {OpKind::kClipFactor, {"clip_factor", OpFamily::kGradient}},
    {OpKind::kSgd, {"sgd", OpFamily::kUpdate}},
    {OpKind::kMomentum, {"momentum", OpFamily::kUpdate}},
    {OpKind::kAdam, {"adam", OpFamily::kUpdate}},
    {OpKind::kLion, {"lion", OpFamily::kUpdate}},
    {OpKind::kAdam8bit, {"adam8bit", OpFamily::kUpdate}},
    {OpKind::kAdafactor, {"adafactor", OpFamily::kUpdate}},
    {OpKind::kSm3, {"sm3", OpFamily::kUpdate}},
    {OpKind::kLamb, {"lamb", OpFamily::kUpdate}},
    {OpKind::kLars, {"lars", OpFamily::kUpdate}},
    {OpKind::kAdamW, {"adamw", OpFamily::kUpdate}},
    {OpKind::kMuon, {"muon", OpFamily::kUpdate}},
    {OpKind::kShareRouting, {"share_routing", OpFamily::kExperts}},
    {OpKind::kGatherRoutings, {"gather_routings", OpFamily::kExchange}},
    {OpKind::kToExperts, {"to_experts", OpFamily::kExchange}},
    {OpKind::kFromExperts, {"from_experts", OpFamily::kExchange}},
    {OpKind::kKeysValues, {"keys_values", OpFamily::kAttention}},
    {OpKind::kAttentionStep, {"attention_step", OpFamily::kAttention}},
    {OpKind::kAttentionStepBackward, {"attention_step_backward", OpFamily::kAttention}},
    {OpKind::kKeysValuesBackward, {"keys_values_backward", OpFamily::kAttention}},
    {OpKind::kDistanceBias, {"distance_bias", OpFamily::kAttention}},
    {OpKind::kBiasedAttention, {"biased_attention", OpFamily::kAttention}},
    {OpKind::kCrossAttention, {"cross_attention", OpFamily::kAttention}},
    {OpKind::kDistanceBiasBackward, {"distance_bias_backward", OpFamily::kAttention}},
    {OpKind::kBiasedAttentionBackward, {"biased_attention_backward", OpFamily::kAttention}},
    {OpKind::kCrossAttentionBackward, {"cross_attention_backward", OpFamily::kAttention}},
}}};
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

bool is_update(OpKind kind) { return family_of(kind) == OpFamily::kUpdate; }

OpFamily family_of(OpKind kind) { return kKinds[kind].family; }

std::string_view to_text(OpKind kind) { return kKinds[kind].name; }

std::string_view to_text(Phase phase) {
  for (const auto& [known, name] : kPhases) {
    if (known == phase) return name;
  }
  return "?";
}

Result<OpKind> parse_op_kind(std::string_view text) {
  for (std::size_t i = 0; i < kKinds.kKinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    if (kKinds[kind].name == text) return kind;
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
