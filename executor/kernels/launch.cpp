#include "executor/kernels/launch.h"

#include <fmt/format.h>

#include <cmath>

#include "core/graph/attention_kind.h"
#include "core/graph/kind_table.h"
#include "executor/kernels/kernels.h"
#include "executor/kernels/scaled_update.h"
#include "executor/kernels/visible_keys.h"

namespace plimsoll {
namespace {

using KernelFunction = void (*)(const OpShape&, std::span<const OperandView>, const LaunchContext&);

/// Kernels by the type of their tensors.
template <typename T>
constexpr KindTable<KernelFunction> kFunctions{{{
    {OpKind::kEmbedding, kernels::embedding<T>},
    {OpKind::kEmbeddingBackward, kernels::embedding_backward<T>},
    {OpKind::kClassToken, kernels::class_token<T>},
    {OpKind::kClassTokenBackward, kernels::class_token_backward<T>},
    {OpKind::kFirstToken, kernels::first_token<T>},
    {OpKind::kFirstTokenBackward, kernels::first_token_backward<T>},
    {OpKind::kNorm, kernels::norm<T>},
    {OpKind::kNormBackward, kernels::norm_backward<T>},
    {OpKind::kLinear, kernels::linear<T>},
    {OpKind::kLinearBackwardInput, kernels::linear_backward_input<T>},
    {OpKind::kLinearBackwardWeight, kernels::linear_backward_weight<T>},
    {OpKind::kHeadNorm, kernels::head_norm<T>},
    {OpKind::kHeadNormBackward, kernels::head_norm_backward<T>},
    {OpKind::kRope, kernels::rope<T>},
    {OpKind::kRopeBackward, kernels::rope_backward<T>},
    {OpKind::kDequantize, kernels::dequantize<T>},
    {OpKind::kAdd, kernels::add<T>},
    {OpKind::kActivation, kernels::activation<T>},
    {OpKind::kActivationBackward, kernels::activation_backward<T>},
    {OpKind::kCrossEntropy, kernels::cross_entropy<T>},
    {OpKind::kLoss, kernels::loss<T>},
    // Attention.
    {OpKind::kAttention, kernels::attention<T>},
    {OpKind::kAttentionBackward, kernels::attention_backward<T>},
    {OpKind::kKeysValues, kernels::keys_values<T>},
    {OpKind::kKeysValuesBackward, kernels::keys_values_backward<T>},
    {OpKind::kAttentionStep, kernels::attention_step<T>},
    {OpKind::kAttentionStepBackward, kernels::attention_step_backward<T>},
    {OpKind::kDistanceBias, kernels::distance_bias<T>},
    {OpKind::kDistanceBiasBackward, kernels::distance_bias_backward<T>},
    {OpKind::kBiasedAttention, kernels::biased_attention<T>},
    {OpKind::kBiasedAttentionBackward, kernels::biased_attention_backward<T>},
    {OpKind::kCrossAttention, kernels::cross_attention<T>},
    {OpKind::kCrossAttentionBackward, kernels::cross_attention_backward<T>},
    // A mixture of experts.
    {OpKind::kRouter, kernels::router<T>},
    {OpKind::kRouterBackward, kernels::router_backward<T>},
    {OpKind::kDispatch, kernels::dispatch<T>},
    {OpKind::kDispatchBackward, kernels::dispatch_backward<T>},
    {OpKind::kExpertLinear, kernels::expert_linear<T>},
    {OpKind::kExpertLinearBackwardInput, kernels::expert_linear_backward_input<T>},
    {OpKind::kExpertLinearBackwardWeight, kernels::expert_linear_backward_weight<T>},
    {OpKind::kExpertDropout, kernels::expert_dropout<T>},
    {OpKind::kCombine, kernels::combine<T>},
    {OpKind::kCombineBackward, kernels::combine_backward<T>},
    {OpKind::kExpertBalance, kernels::expert_balance},
    {OpKind::kShareRouting, kernels::share_routing},
    // Sums of gradients, and updates.
    {OpKind::kAccumulate, kernels::accumulate<T>},
    {OpKind::kSquaredNorm, kernels::squared_norm<T>},
    {OpKind::kClipFactor, kernels::clip_factor},
    {OpKind::kSgd, kernels::sgd<T>},
    {OpKind::kMomentum, kernels::momentum<T>},
    {OpKind::kLion, kernels::lion<T>},
    {OpKind::kAdafactor, kernels::adafactor<T>},
    {OpKind::kLars, kernels::lars<T>},
    {OpKind::kSm3, kernels::sm3<T>},
    {OpKind::kMuon, kernels::muon<T>},
    {OpKind::kAdam, kernels::adam<T>},
    {OpKind::kAdamW, kernels::adamw<T>},
    {OpKind::kAdam8bit, kernels::adam8bit<T>},
    {OpKind::kLamb, kernels::lamb<T>},
    // Exchanges, which are no launches.
    {OpKind::kGatherRoutings, nullptr},
    {OpKind::kToExperts, nullptr},
    {OpKind::kFromExperts, nullptr},
}}};

KernelFunction function_of(const Kernel& kernel) {
  if (kernel.dtype == DType::kFp32) return kFunctions<float>[kernel.kind];
  if (kernel.dtype == DType::kFp64) return kFunctions<double>[kernel.kind];
  if (kernel.dtype == DType::kBf16) return kFunctions<Bf16>[kernel.kind];
  if (kernel.dtype == DType::kFp16) return kFunctions<Fp16>[kernel.kind];
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
