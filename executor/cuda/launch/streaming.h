#pragma once

#include "core/model/model_spec.h"
#include "executor/cuda/kernels/embedding.h"
#include "executor/cuda/launch/device_launch.h"

namespace plimsoll::cuda {

template <typename S, typename A, typename Launcher>
void launch_gated_activation_of(Launcher& launcher, const DeviceLaunch& l) {
  const OpShape& s = l.shape();
  const S* x = l.at<S>(0);
  if (l.kernel.kind == OpKind::kActivation) {
    S* y = l.at<S>(1);
    return for_each_pack(launcher, s.rows, s.outputs, ActivateGated<S, A>{x, y, s.outputs}, x, y);
  }
  const S* dy = l.at<S>(1);
  S* dx = l.at<S>(2);
  for_each_pack(launcher, s.rows, s.outputs, ActivateGatedBackward<S, A>{x, dy, dx, s.outputs}, x, dy, dx);
}

template <typename S, typename A, typename Launcher>
void launch_activation_of(Launcher& launcher, const DeviceLaunch& l) {
  const Index elements = l.shape().rows * l.shape().outputs;
  const S* x = l.at<S>(0);
  if (l.kernel.kind == OpKind::kActivation) {
    S* y = l.at<S>(1);
    return for_each_pack(launcher, 1, elements, Activate<S, A>{x, y, elements}, x, y);
  }
  const S* dy = l.at<S>(1);
  S* dx = l.at<S>(2);
  for_each_pack(launcher, 1, elements, ActivateBackward<S, A>{x, dy, dx, elements}, x, dy, dx);
}

template <typename S, typename Launcher>
void launch_activation(Launcher& launcher, const DeviceLaunch& l) {
  switch (static_cast<ActivationKind>(l.shape().variant)) {
    case ActivationKind::kGelu: return launch_activation_of<S, Gelu>(launcher, l);
    case ActivationKind::kGeluTanh: return launch_activation_of<S, GeluTanh>(launcher, l);
    case ActivationKind::kSwiGlu: return launch_gated_activation_of<S, Silu>(launcher, l);
    case ActivationKind::kGeGluTanh: return launch_gated_activation_of<S, GeluTanh>(launcher, l);
    case ActivationKind::kTanh: return launch_activation_of<S, Tanh>(launcher, l);
    case ActivationKind::kRelu: return launch_activation_of<S, Relu>(launcher, l);
    case ActivationKind::kSquaredRelu: return launch_activation_of<S, SquaredRelu>(launcher, l);
  }
}

inline TokenPlaces token_places(const DeviceLaunch& l, std::size_t extents) {
  const OpShape& s = l.shape();
  return {.sequence = s.sequence,
          .tokens = l.at<const std::int32_t>(0),
          .extents = s.variant > 0 ? l.at<const std::int32_t>(extents) : nullptr,
          .types = s.variant,
          .vocabulary = s.outputs};
}

template <typename S, typename Launcher>
void launch_embedding(Launcher& launcher, const DeviceLaunch& l) {
  const OpShape& s = l.shape();
  const std::size_t after = s.positions > 0 ? 3 : 2;
  for_each(launcher, s.rows * s.inputs,
           Embed<S>{.at = token_places(l, after),
                    .width = s.inputs,
                    .table = l.at<S>(1),
                    .positions = s.positions > 0 ? l.at<S>(2) : nullptr,
                    .type_table = s.variant > 0 ? l.at<S>(after + 1) : nullptr,
                    .factor = static_cast<float>(s.constant),
                    .y = l.at<S>(s.variant > 0 ? after + 2 : after)});
}

template <typename S, typename Launcher>
void launch_embedding_backward(Launcher& launcher, const DeviceLaunch& l) {
  const OpShape& s = l.shape();
  const TokenPlaces at = token_places(l, 2);
  const std::size_t table = s.variant > 0 ? 3 : 2;
  if (l.starts(table)) launcher.clear(l.operands[table].data, l.operands[table].bytes);
  launcher.template run<EmbedBackward<S>>({.at = at,
                                           .rows = s.rows,
                                           .width = s.inputs,
                                           .dx = l.at<S>(1),
                                           .d_table = l.at<S>(table),
                                           .factor = static_cast<float>(s.constant),
                                           .packed = are_packed(s.inputs, s.inputs, l.at<S>(1), l.at<S>(table))});
  if (s.positions > 0) {
    for_each(launcher, s.positions * s.inputs,
             PositionGradient<S>{s.rows / s.sequence, s.sequence, s.inputs, l.at<S>(1), l.at<S>(table + 1)});
  }
  if (s.variant > 0) {
    for_each(launcher, s.variant * s.inputs,
             TypeGradient<S>{at, s.rows, s.inputs, l.at<S>(1), l.at<S>(s.positions > 0 ? table + 2 : table + 1)});
  }
}

template <typename S, typename Launcher>
void launch_add(Launcher& launcher, const DeviceLaunch& l) {
  const Index elements = l.shape().rows * l.shape().inputs;
  const S *a = l.at<S>(0), *b = l.at<S>(1);
  S* y = l.at<S>(2);
  for_each_pack(launcher, 1, elements, AddTwo<S>{a, b, y, elements}, a, b, y);
}

/// Embeddings, activations and sums: what streams through memory. False: the kernel is of another kind.
template <typename S, typename Launcher>
bool launch_streaming(Launcher& launcher, const DeviceLaunch& l) {
  const OpShape& s = l.shape();
  switch (l.kernel.kind) {
    case OpKind::kEmbedding: launch_embedding<S>(launcher, l); return true;
    case OpKind::kEmbeddingBackward: launch_embedding_backward<S>(launcher, l); return true;
    case OpKind::kActivation:
    case OpKind::kActivationBackward: launch_activation<S>(launcher, l); return true;
    case OpKind::kAdd:
      launch_add<S>(launcher, l);
      return true;
    case OpKind::kAccumulate:
      for_each(launcher, s.rows, AddToSum<S>{l.at<S>(0), l.at<float>(1), l.starts(1)});
      return true;
    default: return false;
  }
}

}  // namespace plimsoll::cuda
