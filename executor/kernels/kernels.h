#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/graph/op.h"
#include "executor/kernels/half_types.h"
#include "executor/kernels/launch.h"

// The kernels of the CPU backend, one function an OpKind, for tensors stored as S: float, double, Bf16 or Fp16 (storage.h
// says how the latter two are computed with). Each cuts its work into tasks that depend on the shape only and writes each
// output in exactly one task, so neither the number of workers nor their order changes a bit.
namespace plimsoll::kernels {

using Operands = std::span<const OperandView>;

/// Operand `index` as an array of T.
template <typename T>
T* array(Operands operands, std::size_t index) {
  return reinterpret_cast<T*>(operands[index].data);
}

/// Half-open range [begin, end) of rows, columns or elements.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// Number of ranges of `step` that cover [0, total).
constexpr std::int64_t range_count(std::int64_t total, std::int64_t step) { return (total + step - 1) / step; }

/// Range `index` of [0, total) in steps of `step`.
constexpr Range range_at(std::int64_t index, std::int64_t total, std::int64_t step) {
  return {index * step, std::min(total, (index + 1) * step)};
}

template <typename S>
void embedding(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void embedding_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void class_token(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void class_token_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void first_token(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void first_token_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void norm(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void norm_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void linear(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void linear_backward_input(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void linear_backward_weight(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void head_norm(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void head_norm_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void rope(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void rope_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void attention(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void attention_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void keys_values(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void attention_step(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void attention_step_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void keys_values_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void distance_bias(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void distance_bias_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void biased_attention(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void biased_attention_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void cross_attention(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void cross_attention_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void dequantize(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void add(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void activation(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void activation_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void cross_entropy(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void loss(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void router(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void dispatch(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void expert_linear(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void expert_dropout(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void combine(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void combine_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void expert_linear_backward_input(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void expert_linear_backward_weight(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void dispatch_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void router_backward(const OpShape& shape, Operands operands, const LaunchContext& context);
void expert_balance(const OpShape& shape, Operands operands, const LaunchContext& context);
void share_routing(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void accumulate(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void squared_norm(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void sgd(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void momentum(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void adam(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void lion(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void adam8bit(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void adafactor(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void sm3(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void lamb(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void lars(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void muon(const OpShape& shape, Operands operands, const LaunchContext& context);
template <typename S>
void adamw(const OpShape& shape, Operands operands, const LaunchContext& context);
void clip_factor(const OpShape& shape, Operands operands, const LaunchContext& context);

}  // namespace plimsoll::kernels

/// Makes a kernel template for tensors stored as fp32 and fp64.
#define PLIMSOLL_INSTANTIATE_KERNEL(name)                                                           \
  template void name<float>(const OpShape& shape, Operands operands, const LaunchContext& context); \
  template void name<double>(const OpShape& shape, Operands operands, const LaunchContext& context)

/// The same for those of two bytes; launch.cpp lists which kernels have them.
#define PLIMSOLL_INSTANTIATE_HALF_KERNEL(name)                                                     \
  PLIMSOLL_INSTANTIATE_KERNEL(name);                                                               \
  template void name<Bf16>(const OpShape& shape, Operands operands, const LaunchContext& context); \
  template void name<Fp16>(const OpShape& shape, Operands operands, const LaunchContext& context)
