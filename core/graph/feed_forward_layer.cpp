#include "core/graph/feed_forward_layer.h"

namespace plimsoll {
namespace {

using Role = ParameterRole;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr WeightAndBias kIn{Role::kFfnInWeight, Role::kFfnInBias};
constexpr WeightAndBias kOut{Role::kFfnOutWeight, Role::kFfnOutBias};

OpShape activation_shape(const LayerWriter& write) {
  const ModelSpec& spec = write.spec();
  return {.rows = write.rows(), .inputs = spec.ffn_in_width(), .outputs = spec.ffn,
          .variant = static_cast<std::uint8_t>(spec.activation)};
}

}  // namespace

TensorId feed_forward(LayerWriter& write, GroupId g, TensorId x, SavedFeedForward& saved) {
  const ModelSpec& spec = write.spec();
  saved.ffn_in = write.linear(g, kIn, x, spec.hidden, spec.ffn_in_width(), "ffn in");
  saved.ffn_act = write.activation(spec.ffn, "ffn activation");
  write.build().add(OpKind::kActivation, activation_shape(write), {{saved.ffn_in, kR}, {saved.ffn_act, kW}});
  return write.linear(g, kOut, saved.ffn_act, spec.ffn, spec.hidden, "ffn out");
}

TensorId feed_forward_backward(LayerWriter& write, GroupId g, TensorId d_stream, TensorId x, const SavedFeedForward& saved) {
  const ModelSpec& spec = write.spec();
  const TensorId d_act =
      write.linear_backward(g, kOut, d_stream, saved.ffn_act, spec.ffn, spec.hidden, "ffn activation gradient");
  const TensorId d_ffn_in = write.gradient(spec.ffn_in_width(), "ffn in gradient");
  write.build().add(OpKind::kActivationBackward, activation_shape(write), {{saved.ffn_in, kR}, {d_act, kR}, {d_ffn_in, kW}});
  return write.linear_backward(g, kIn, d_ffn_in, x, spec.hidden, spec.ffn_in_width(), "norm 2 gradient");
}

}  // namespace plimsoll
