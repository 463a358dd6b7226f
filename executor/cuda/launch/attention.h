#pragma once

#include <cmath>

#include "executor/cuda/kernels/attention.h"
#include "executor/cuda/kernels/attention_backward.h"
#include "executor/cuda/kernels/matrix_attention.h"
#include "executor/cuda/kernels/matrix_attention_backward.h"
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

/// Whether programs by matrix units take heads of this size: rows are read 16 bytes at a time, and small heads would be
/// mostly padding. What decides is the model, the type and the device, never the plan: another plan gives the same
/// bits.
inline bool suits_matrix_units(Index head_dim) {
  return head_dim % 8 == 0 && head_dim >= 32 && head_dim <= AttentionTile::kMostDim;
}

/// The programs of one way to attend.
template <typename S>
struct PlainAttention {
  using Forward = AttentionForward<S>;
  using KeyGradients = AttentionKeyGradients<S>;
  using QueryGradients = AttentionQueryGradients<S>;
};

template <typename S, int kDim>
struct MatrixAttention {
  using Forward = MatrixAttentionForward<S, kDim>;
  using KeyGradients = MatrixKeyGradients<S, kDim>;
  using QueryGradients = MatrixQueryGradients<S, kDim>;
};

/// Of the backward pass's workspace, which the plan sizes for accumulators of dq too, the dots take the begin.
template <typename S, typename Programs, typename Launcher>
bool launch_attention_by(Programs, Launcher& launcher, const DeviceLaunch& l) {
  const bool padded = l.shape().variant == static_cast<std::uint8_t>(AttentionKind::kPadded);
  const std::size_t next = padded ? 2 : 1;
  if (l.kernel.kind == OpKind::kAttention) {
    launcher.template run<typename Programs::Forward>(
        {attention_sizes(l), l.at<S>(0), l.at<S>(next), l.at<float>(next + 1)});
    return true;
  }
  if (l.kernel.kind != OpKind::kAttentionBackward) return false;
  const AttentionBackwardArgs<S> args{.at = attention_sizes(l),
                                      .qkv = l.at<S>(0),
                                      .out = l.at<S>(next),
                                      .log_sum_exp = l.at<float>(next + 1),
                                      .dout = l.at<S>(next + 2),
                                      .dqkv = l.at<S>(next + 3),
                                      .dots = l.at<float>(next + 4),
                                      .packed = are_packed(l.shape().head_dim, kPack, l.at<S>(next), l.at<S>(next + 2))};
  launcher.template run<OutputDots<S>>(args);
  launcher.template run<typename Programs::KeyGradients>(args);
  launcher.template run<typename Programs::QueryGradients>(args);
  return true;
}

template <typename S, typename Launcher>
bool launch_attention(Launcher& launcher, const DeviceLaunch& l) {
  if constexpr (sizeof(S) == 2) {
    const Index dim = l.shape().head_dim;
    if (launcher.template multiplies_matrices<S>() && suits_matrix_units(dim)) {
      if (dim > 64) return launch_attention_by<S>(MatrixAttention<S, 128>(), launcher, l);
      return launch_attention_by<S>(MatrixAttention<S, 64>(), launcher, l);
    }
  }
  return launch_attention_by<S>(PlainAttention<S>(), launcher, l);
}

}  // namespace plimsoll::cuda
