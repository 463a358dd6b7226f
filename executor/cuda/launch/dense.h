#pragma once

#include "core/graph/op_work.h"
#include "core/model/model_spec.h"
#include "executor/cuda/kernels/head_norm.h"
#include "executor/cuda/kernels/norm.h"
#include "executor/cuda/kernels/product.h"
#include "executor/cuda/kernels/rope.h"
#include "executor/cuda/launch/device_launch.h"

namespace plimsoll::cuda {

template <typename S, typename Launcher>
void launch_linear(Launcher& launcher, const DeviceLaunch& l) {
  const OpShape& s = l.shape();
  const bool has_bias = l.operands.size() == 4;
  const std::size_t y = has_bias ? 3 : 2;
  launcher.multiply(ProductArgs<S>{.rows = s.rows,
                                   .columns = s.outputs,
                                   .depth = s.inputs,
                                   .a = l.at<S>(0),
                                   .a_stride = s.inputs,
                                   .a_transposed = false,
                                   .b = l.at<S>(1),
                                   .b_stride = s.inputs,
                                   .b_transposed = true,
                                   .c = l.at<S>(y),
                                   .c_stride = s.stride == 0 ? s.outputs : s.stride,
                                   .adds = l.adds(y),
                                   .factor = s.constant == 0 ? 1.0F : static_cast<float>(s.constant),
                                   .bias = has_bias ? l.at<S>(2) : nullptr});
}

template <typename S, typename Launcher>
void launch_linear_backward_input(Launcher& launcher, const DeviceLaunch& l) {
  const OpShape& s = l.shape();
  launcher.multiply(ProductArgs<S>{.rows = s.rows,
                                   .columns = s.inputs,
                                   .depth = s.outputs,
                                   .a = l.at<S>(0),
                                   .a_stride = s.stride == 0 ? s.outputs : s.stride,
                                   .a_transposed = false,
                                   .b = l.at<S>(1),
                                   .b_stride = s.inputs,
                                   .b_transposed = false,
                                   .c = l.at<S>(2),
                                   .c_stride = s.inputs,
                                   .adds = l.adds(2),
                                   .factor = s.constant == 0 ? 1.0F : static_cast<float>(s.constant)});
}

template <typename S, typename Launcher>
void launch_linear_backward_weight(Launcher& launcher, const DeviceLaunch& l) {
  const OpShape& s = l.shape();
  const Index stride = s.stride == 0 ? s.outputs : s.stride;
  launcher.multiply(ProductArgs<S>{.rows = s.outputs,
                                   .columns = s.inputs,
                                   .depth = s.rows,
                                   .a = l.at<S>(0),
                                   .a_stride = stride,
                                   .a_transposed = true,
                                   .b = l.at<S>(1),
                                   .b_stride = s.inputs,
                                   .b_transposed = false,
                                   .c = l.at<S>(2),
                                   .c_stride = s.inputs,
                                   .adds = l.adds(2),
                                   .factor = s.constant == 0 ? 1.0F : static_cast<float>(s.constant)});
  if (l.operands.size() < 4) return;
  const typename ColumnShares<S>::Args shares{.rows = s.rows,
                                              .columns = s.outputs,
                                              .stride = stride,
                                              .x = l.at<S>(0),
                                              .shares = reinterpret_cast<float*>(l.scratch),
                                              .packed = are_packed(s.outputs, stride, l.at<S>(0))};
  launcher.template run<ColumnShares<S>>(shares);
  launcher.template run<SumShares<S>>({shares.shares, ColumnShares<S>::tiles(shares), s.outputs, s.outputs, l.at<S>(3)});
}

inline float offset_of_weights(const OpShape& s) {
  return s.variant == static_cast<std::uint8_t>(NormKind::kRmsNormPlusOne) ? 1.0F : 0.0F;
}

template <typename S, typename Launcher>
void launch_norm(Launcher& launcher, const DeviceLaunch& l) {
  const OpShape& s = l.shape();
  const bool layer = s.variant == static_cast<std::uint8_t>(NormKind::kLayerNorm);
  const S *x = l.at<S>(0), *weight = l.at<S>(1), *bias = layer ? l.at<S>(2) : nullptr;
  S* y = l.at<S>(layer ? 3 : 2);
  launcher.template run<NormRows<S>>({.rows = s.rows,
                                      .width = s.inputs,
                                      .x = x,
                                      .weight = weight,
                                      .bias = bias,
                                      .y = y,
                                      .statistics = l.at<float>(layer ? 4 : 3),
                                      .epsilon = static_cast<float>(s.constant),
                                      .offset = offset_of_weights(s),
                                      .centred = layer,
                                      .packed = are_packed(s.inputs, s.inputs, x, weight, bias, y)});
}

/// The weights' shares come first: dx may take the place of dy.
template <typename S, typename Launcher>
void launch_norm_backward(Launcher& launcher, const DeviceLaunch& l) {
  const OpShape& s = l.shape();
  const bool layer = s.variant == static_cast<std::uint8_t>(NormKind::kLayerNorm), trains = l.operands.size() > 6;
  const NormBackwardArgs<S> args{.rows = s.rows,
                                 .width = s.inputs,
                                 .dy = l.at<S>(0),
                                 .x = l.at<S>(1),
                                 .weight = l.at<S>(2),
                                 .statistics = l.at<float>(3),
                                 .dx = l.at<S>(4),
                                 .partial = l.at<float>(l.operands.size() - 1),
                                 .offset = offset_of_weights(s),
                                 .centred = layer,
                                 .adds = l.adds(4),
                                 .packed = are_packed(s.inputs, s.inputs, l.at<S>(0), l.at<S>(1), l.at<S>(2), l.at<S>(4)),
                                 .sums = layer ? 2 : 1};
  if (trains) launcher.template run<NormWeightShares<S>>(args);
  launcher.template run<NormInputGradient<S>>(args);
  if (!trains) return;
  static_assert(NormWeightShares<S>::kRows == kReductionRows);  // the plan's workspace has room for so many tiles
  const Index tiles = NormWeightShares<S>::tiles(args);
  for (Index which = 0; which < args.sums; ++which) {
    S* sums = l.at<S>(5 + static_cast<std::size_t>(which));
    launcher.template run<SumShares<S>>({args.partial + which * s.inputs, tiles, args.sums * s.inputs, s.inputs, sums});
  }
}

template <typename S>
HeadNormArgs<S> head_norm_args(const DeviceLaunch& l, std::size_t first) {
  const OpShape& s = l.shape();
  return {.rows = s.rows,
          .heads = s.heads,
          .kv_heads = s.kv_heads,
          .dim = s.head_dim,
          .width = (s.heads + 2 * s.kv_heads) * s.head_dim,
          .x = l.at<S>(first),
          .query_weight = l.at<S>(first + 1),
          .key_weight = l.at<S>(first + 2),
          .epsilon = static_cast<float>(s.constant),
          .offset = offset_of_weights(s)};
}

template <typename S, typename Launcher>
void launch_head_norm(Launcher& launcher, const DeviceLaunch& l) {
  HeadNormArgs<S> args = head_norm_args<S>(l, 0);
  args.y = l.at<S>(3);
  args.statistics = l.at<float>(4);
  const Index normalized = args.heads + args.kv_heads, values = args.kv_heads * args.dim;
  for_each(launcher, args.rows * normalized, NormHead<S>{args});
  for_each(launcher, args.rows * values, CopyValues<S>{values, args.width, normalized * args.dim, args.x, args.y});
}

template <typename S, typename Launcher>
void launch_head_norm_backward(Launcher& launcher, const DeviceLaunch& l) {
  HeadNormArgs<S> args = head_norm_args<S>(l, 1);
  args.statistics = l.at<float>(4);
  float* partial = l.at<float>(l.operands.size() - 1);
  const Index tiles = parts_of(args.rows, HeadWeightShares<S>::kRows);
  const bool trains = l.operands.size() > 6;
  if (trains) for_each(launcher, tiles * 2 * args.dim, HeadWeightShares<S>{args, l.at<S>(0), partial});
  for_each(launcher, args.rows * (args.heads + args.kv_heads), NormHeadBackward<S>{args, l.at<S>(0)});
  for (std::size_t which = 0; trains && which < 2; ++which) {
    const float* shares = partial + static_cast<Index>(which) * args.dim;
    launcher.template run<SumShares<S>>({shares, tiles, 2 * args.dim, args.dim, l.at<S>(5 + which)});
  }
}

template <typename S, typename Launcher>
void launch_rope(Launcher& launcher, const DeviceLaunch& l, float sign) {
  const OpShape& s = l.shape();
  launcher.template run<Rotate<S>>({.rows = s.rows,
                                    .sequence = s.sequence,
                                    .heads = s.heads + s.kv_heads,
                                    .width = (s.heads + 2 * s.kv_heads) * s.head_dim,
                                    .head_dim = s.head_dim,
                                    .rotated = s.inputs == 0 ? s.head_dim : s.inputs,
                                    .first_position = s.positions,
                                    .base = s.constant,
                                    .scaling = s.variant == 0 ? l.context.rope_scaling : RopeScaling{},
                                    .qkv = l.at<S>(0),
                                    .sign = sign});
}

/// Products, norms and rotations. False: the kernel is of another kind.
template <typename S, typename Launcher>
bool launch_dense(Launcher& launcher, const DeviceLaunch& l) {
  switch (l.kernel.kind) {
    case OpKind::kLinear: launch_linear<S>(launcher, l); return true;
    case OpKind::kLinearBackwardInput: launch_linear_backward_input<S>(launcher, l); return true;
    case OpKind::kLinearBackwardWeight: launch_linear_backward_weight<S>(launcher, l); return true;
    case OpKind::kNorm: launch_norm<S>(launcher, l); return true;
    case OpKind::kNormBackward: launch_norm_backward<S>(launcher, l); return true;
    case OpKind::kHeadNorm: launch_head_norm<S>(launcher, l); return true;
    case OpKind::kHeadNormBackward: launch_head_norm_backward<S>(launcher, l); return true;
    case OpKind::kRope: launch_rope<S>(launcher, l, 1); return true;
    case OpKind::kRopeBackward: launch_rope<S>(launcher, l, -1); return true;
    default: return false;
  }
}

}  // namespace plimsoll::cuda
