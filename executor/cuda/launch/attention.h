#pragma once

#include <cmath>

#include "executor/cuda/kernels/attention.h"
#include "executor/cuda/kernels/attention_backward.h"
#include "executor/cuda/launch/device_launch.h"

namespace plimsoll::cuda {

inline AttentionSizes attention_sizes(const DeviceLaunch& l) {
  const OpShape& s = l.shape();
  const bool padded = s.variant == static_cast<std::uint8_t>(AttentionKind::kPadded);
  return {.sequences = s.rows / s.sequence,
          .sequence = s.sequence,
          .heads = s.heads,
          .kv_heads = s.kv_heads,
          .dim = s.head_dim,
          .causal = s.variant == static_cast<std::uint8_t>(AttentionKind::kCausal),
          .extents = padded ? l.at<const std::int32_t>(1) : nullptr,
          .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.head_dim)))};
}

/// Of the backward pass's workspace, which the plan sizes for accumulators of dq too, the dots take the begin.
template <typename S, typename Launcher>
bool launch_attention(Launcher& launcher, const DeviceLaunch& l) {
  const bool padded = l.shape().variant == static_cast<std::uint8_t>(AttentionKind::kPadded);
  const std::size_t next = padded ? 2 : 1;
  if (l.kernel.kind == OpKind::kAttention) {
    launcher.template run<AttentionForward<S>>({attention_sizes(l), l.at<S>(0), l.at<S>(next), l.at<float>(next + 1)});
    return true;
  }
  if (l.kernel.kind != OpKind::kAttentionBackward) return false;
  const AttentionBackwardArgs<S> args{.at = attention_sizes(l),
                                      .qkv = l.at<S>(0),
                                      .out = l.at<S>(next),
                                      .log_sum_exp = l.at<float>(next + 1),
                                      .dout = l.at<S>(next + 2),
                                      .dqkv = l.at<S>(next + 3),
                                      .dots = l.at<float>(next + 4)};
  for_each(launcher, l.shape().rows * l.shape().heads, OutputDots<S>{args});
  launcher.template run<AttentionKeyGradients<S>>(args);
  launcher.template run<AttentionQueryGradients<S>>(args);
  return true;
}

}  // namespace plimsoll::cuda
