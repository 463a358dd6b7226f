#include "executor/kernels/launch.h"

#include <fmt/format.h>

#include <cmath>

#include "core/graph/attention_kind.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/scaled_update.h"
#include "executor/kernels/visible_keys.h"

namespace plimsoll {
namespace {

using KernelFunction = void (*)(const OpShape&, std::span<const OperandView>, const LaunchContext&);

template <typename T>
KernelFunction function_of(OpKind kind) {
  switch (kind) {
    case OpKind::kEmbedding:
      return kernels::embedding<T>;
    case OpKind::kClassToken:
      return kernels::class_token<T>;
    case OpKind::kClassTokenBackward:
      return kernels::class_token_backward<T>;
    case OpKind::kFirstToken:
      return kernels::first_token<T>;
    case OpKind::kFirstTokenBackward:
      return kernels::first_token_backward<T>;
    case OpKind::kNorm:
      return kernels::norm<T>;
    case OpKind::kLinear:
      return kernels::linear<T>;
    case OpKind::kHeadNorm:
      return kernels::head_norm<T>;
    case OpKind::kRope:
      return kernels::rope<T>;
    case OpKind::kAttention:
      return kernels::attention<T>;
    case OpKind::kDequantize:
      return kernels::dequantize<T>;
    case OpKind::kAdd:
      return kernels::add<T>;
    case OpKind::kActivation:
      return kernels::activation<T>;
    case OpKind::kCrossEntropy:
      return kernels::cross_entropy<T>;
    case OpKind::kLoss:
      return kernels::loss<T>;
    case OpKind::kEmbeddingBackward:
      return kernels::embedding_backward<T>;
    case OpKind::kNormBackward:
      return kernels::norm_backward<T>;
    case OpKind::kLinearBackwardInput:
      return kernels::linear_backward_input<T>;
    case OpKind::kLinearBackwardWeight:
      return kernels::linear_backward_weight<T>;
    case OpKind::kRopeBackward:
      return kernels::rope_backward<T>;
    case OpKind::kHeadNormBackward:
      return kernels::head_norm_backward<T>;
    case OpKind::kAttentionBackward:
      return kernels::attention_backward<T>;
    case OpKind::kKeysValues:
      return kernels::keys_values<T>;
    case OpKind::kAttentionStep:
      return kernels::attention_step<T>;
    case OpKind::kAttentionStepBackward:
      return kernels::attention_step_backward<T>;
    case OpKind::kKeysValuesBackward:
      return kernels::keys_values_backward<T>;
    case OpKind::kDistanceBias:
      return kernels::distance_bias<T>;
    case OpKind::kBiasedAttention:
      return kernels::biased_attention<T>;
    case OpKind::kCrossAttention:
      return kernels::cross_attention<T>;
    case OpKind::kDistanceBiasBackward:
      return kernels::distance_bias_backward<T>;
    case OpKind::kBiasedAttentionBackward:
      return kernels::biased_attention_backward<T>;
    case OpKind::kCrossAttentionBackward:
      return kernels::cross_attention_backward<T>;
    case OpKind::kActivationBackward:
      return kernels::activation_backward<T>;
    case OpKind::kRouter:
      return kernels::router<T>;
    case OpKind::kDispatch:
      return kernels::dispatch<T>;
    case OpKind::kExpertLinear:
      return kernels::expert_linear<T>;
    case OpKind::kExpertDropout:
      return kernels::expert_dropout<T>;
    case OpKind::kCombine:
      return kernels::combine<T>;
    case OpKind::kCombineBackward:
      return kernels::combine_backward<T>;
    case OpKind::kExpertLinearBackwardInput:
      return kernels::expert_linear_backward_input<T>;
    case OpKind::kExpertLinearBackwardWeight:
      return kernels::expert_linear_backward_weight<T>;
    case OpKind::kDispatchBackward:
      return kernels::dispatch_backward<T>;
    case OpKind::kRouterBackward:
      return kernels::router_backward<T>;
    case OpKind::kExpertBalance:
      return kernels::expert_balance;
    case OpKind::kAccumulate:
      return kernels::accumulate<T>;
    case OpKind::kSquaredNorm:
      return kernels::squared_norm<T>;
    case OpKind::kClipFactor:
      return kernels::clip_factor;
    case OpKind::kSgd:
      return kernels::sgd<T>;
    case OpKind::kMomentum:
      return kernels::momentum<T>;
    case OpKind::kAdam:
      return kernels::adam<T>;
    case OpKind::kLion:
      return kernels::lion<T>;
    case OpKind::kAdam8bit:
      return kernels::adam8bit<T>;
    case OpKind::kAdafactor:
      return kernels::adafactor<T>;
    case OpKind::kSm3:
      return kernels::sm3<T>;
    case OpKind::kLamb:
      return kernels::lamb<T>;
    case OpKind::kLars:
      return kernels::lars<T>;
    case OpKind::kAdamW:
      return kernels::adamw<T>;
    case OpKind::kMuon:
      return kernels::muon<T>;
    case OpKind::kShareRouting:
      return kernels::share_routing;
    case OpKind::kGatherRoutings:
    case OpKind::kToExperts:
    case OpKind::kFromExperts:
      return nullptr;
  }
  return nullptr;
}

/// Kernels whose tensors may be stored in two bytes.
template <typename S>
KernelFunction half_function_of(OpKind kind) {
  switch (kind) {
    case OpKind::kEmbedding:
      return kernels::embedding<S>;
    case OpKind::kClassToken:
      return kernels::class_token<S>;
    case OpKind::kClassTokenBackward:
      return kernels::class_token_backward<S>;
    case OpKind::kFirstToken:
      return kernels::first_token<S>;
    case OpKind::kFirstTokenBackward:
      return kernels::first_token_backward<S>;
    case OpKind::kNorm:
      return kernels::norm<S>;
    case OpKind::kLinear:
      return kernels::linear<S>;
    case OpKind::kHeadNorm:
      return kernels::head_norm<S>;
    case OpKind::kRope:
      return kernels::rope<S>;
    case OpKind::kAttention:
      return kernels::attention<S>;
    case OpKind::kDequantize:
      return kernels::dequantize<S>;
    case OpKind::kAdd:
      return kernels::add<S>;
    case OpKind::kActivation:
      return kernels::activation<S>;
    case OpKind::kCrossEntropy:
      return kernels::cross_entropy<S>;
    case OpKind::kLoss:
      return kernels::loss<S>;
    case OpKind::kEmbeddingBackward:
      return kernels::embedding_backward<S>;
    case OpKind::kNormBackward:
      return kernels::norm_backward<S>;
    case OpKind::kLinearBackwardInput:
      return kernels::linear_backward_input<S>;
    case OpKind::kLinearBackwardWeight:
      return kernels::linear_backward_weight<S>;
    case OpKind::kRopeBackward:
      return kernels::rope_backward<S>;
    case OpKind::kHeadNormBackward:
      return kernels::head_norm_backward<S>;
    case OpKind::kAttentionBackward:
      return kernels::attention_backward<S>;
    case OpKind::kKeysValues:
      return kernels::keys_values<S>;
    case OpKind::kAttentionStep:
      return kernels::attention_step<S>;
    case OpKind::kAttentionStepBackward:
      return kernels::attention_step_backward<S>;
    case OpKind::kKeysValuesBackward:
      return kernels::keys_values_backward<S>;
    case OpKind::kDistanceBias:
      return kernels::distance_bias<S>;
    case OpKind::kBiasedAttention:
      return kernels::biased_attention<S>;
    case OpKind::kCrossAttention:
      return kernels::cross_attention<S>;
    case OpKind::kDistanceBiasBackward:
      return kernels::distance_bias_backward<S>;
    case OpKind::kBiasedAttentionBackward:
      return kernels::biased_attention_backward<S>;
    case OpKind::kCrossAttentionBackward:
      return kernels::cross_attention_backward<S>;
    case OpKind::kActivationBackward:
      return kernels::activation_backward<S>;
    case OpKind::kRouter:
      return kernels::router<S>;
    case OpKind::kDispatch:
      return kernels::dispatch<S>;
    case OpKind::kExpertLinear:
      return kernels::expert_linear<S>;
    case OpKind::kExpertDropout:
      return kernels::expert_dropout<S>;
    case OpKind::kCombine:
      return kernels::combine<S>;
    case OpKind::kCombineBackward:
      return kernels::combine_backward<S>;
    case OpKind::kExpertLinearBackwardInput:
      return kernels::expert_linear_backward_input<S>;
    case OpKind::kExpertLinearBackwardWeight:
      return kernels::expert_linear_backward_weight<S>;
    case OpKind::kDispatchBackward:
      return kernels::dispatch_backward<S>;
    case OpKind::kRouterBackward:
      return kernels::router_backward<S>;
    case OpKind::kExpertBalance:
      return kernels::expert_balance;
    case OpKind::kAccumulate:
      return kernels::accumulate<S>;
    case OpKind::kSquaredNorm:
      return kernels::squared_norm<S>;
    case OpKind::kClipFactor:
      return kernels::clip_factor;
    case OpKind::kSgd:
      return kernels::sgd<S>;
    case OpKind::kMomentum:
      return kernels::momentum<S>;
    case OpKind::kAdam:
      return kernels::adam<S>;
    case OpKind::kLion:
      return kernels::lion<S>;
    case OpKind::kAdam8bit:
      return kernels::adam8bit<S>;
    case OpKind::kAdafactor:
      return kernels::adafactor<S>;
    case OpKind::kSm3:
      return kernels::sm3<S>;
    case OpKind::kShareRouting:
      return kernels::share_routing;
    case OpKind::kLamb:
      return kernels::lamb<S>;
    case OpKind::kLars:
      return kernels::lars<S>;
    case OpKind::kAdamW:
      return kernels::adamw<S>;
    case OpKind::kMuon:
      return kernels::muon<S>;
    default:
      return nullptr;
  }
}

KernelFunction function_of(const Kernel& kernel) {
  if (kernel.dtype == DType::kFp32) return function_of<float>(kernel.kind);
  if (kernel.dtype == DType::kFp64) return function_of<double>(kernel.kind);
  if (kernel.dtype == DType::kBf16) return half_function_of<Bf16>(kernel.kind);
  if (kernel.dtype == DType::kFp16) return half_function_of<Fp16>(kernel.kind);
  return nullptr;
}

}  // namespace

bool supports(const Kernel& kernel) {
  if (is_attention(kernel.kind) && !kernels::is_computed(static_cast<AttentionKind>(kernel.shape.variant)))
    return false;
  return function_of(kernel) != nullptr;
}

void launch(const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
  const KernelFunction function = function_of(kernel);
  if (function == nullptr) {
    throw EnvironmentError(
        {.kind = ErrorKind::kEnvironment,
         .what = fmt::format("the CPU backend has no {} kernel in {}", to_text(kernel.kind), to_text(kernel.dtype)),
         .where = {},
         .remedy = "use --precision fp32"});
  }
  if (!is_update(kernel.kind)) return function(kernel.shape, operands, context);
  LaunchContext own = context;
  own.step -= context.recipe->delay;  // an update counts as one of the step whose gradients it takes
  if (own.step < 0) return publish_states(kernel, operands);
  if (!scales_loss(context.recipe->precision)) return function(kernel.shape, operands, own);
  const LossScale& scale = factor_of(operands);
  if (std::isnan(scale.factor)) return keep_states(kernel, operands);
  own.updates = static_cast<std::int64_t>(scale.updates);
  function(kernel.shape, operands, own);
}

}  // namespace plimsoll
