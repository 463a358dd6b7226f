#include "sim/stack/modules/conv_model.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

using Kind = ConvLayerKind;

Weights make_weights(Tape& tape, const ConvLayer& layer, std::size_t index, DType dtype) {
  const std::string name = fmt::format("layer {}", index);
  if (layer.kind == Kind::kBatchNorm) {
    return {.weight = &tape.parameter(name + ".weight", {layer.channels}, dtype), .bias = &tape.parameter(name + ".bias", {layer.channels}, dtype)};
  }
  if (layer.kind != Kind::kConvolution && layer.kind != Kind::kLinear) return {};
  Weights made{.weight = &tape.parameter(name + ".weight", {layer.outputs, layer.inputs_per_output()}, dtype)};
  if (layer.bias) made.bias = &tape.parameter(name + ".bias", {layer.outputs}, dtype);
  return made;
}

std::vector<std::size_t> last_uses(const ConvLayers& net) {
  std::vector<std::size_t> last(net.values.size(), 0);
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    for (const std::int64_t input : net.layers[i].inputs) last[static_cast<std::size_t>(input)] = i;
  }
  return last;
}

}  // namespace

ConvModel::ConvModel(Tape& tape, const ModelSpec& spec, std::int64_t batch, double dropout, const MapCompression& compression,
                     DType weights)
    : tape_(tape), net_(conv_layers(spec)), last_use_(last_uses(net_)), batch_(batch), dropout_(dropout), compression_(compression) {
  tape.streams_over_planes();
  for (std::size_t i = 0; i < net_.layers.size(); ++i) weights_.push_back(make_weights(tape, net_.layers[i], i, weights));
}

Shape ConvModel::shape_of(std::int64_t value) const {
  const ConvValue& v = net_.values[static_cast<std::size_t>(value)];
  return {batch_, v.channels, v.height, v.width};
}

Tensor ConvModel::run(const ConvLayer& layer, const std::vector<Tensor>& values, const ConvStash& stash) {
  const Tensor& x = values[static_cast<std::size_t>(layer.inputs.front())];
  const Weights& weights = weights_[static_cast<std::size_t>(&layer - net_.layers.data())];
  switch (layer.kind) {
    case Kind::kConvolution:
      return convolution(tape_, x, weights, {.inputs_per_output = layer.inputs_per_output(), .made = shape_of(layer.output)});
    case Kind::kBatchNorm: return batch_norm(tape_, x, weights);
    case Kind::kRelu: return layer.in_place ? relu_in_place(tape_, x) : from_result(tape_, x);
    case Kind::kMaxPool: return max_pool(tape_, x, shape_of(layer.output), stash.bits_of_place(layer));
    case Kind::kAveragePool:
    case Kind::kGlobalPool: return average_pool(tape_, x, shape_of(layer.output));
    case Kind::kAdd: return add_in_place(tape_, x, values[static_cast<std::size_t>(layer.inputs.back())]);
    case Kind::kConcatenate: {
      Tensors parts;
      for (const std::int64_t input : layer.inputs) parts.push_back(values[static_cast<std::size_t>(input)]);
      return concatenate(tape_, parts, 1);
    }
    case Kind::kDropout: return dropout(tape_, x, dropout_);
    case Kind::kFlatten: return view(tape_, x, {batch_, layer.outputs});
    case Kind::kLinear: return linear(tape_, x, weights);
  }
  return x;
}

StackModel::Loss ConvModel::loss(std::optional<DType> autocast) {
  Loss result;
  tape_.phase(Phase::kForward);
  tape_.with_autocast(autocast, [&] {
    std::vector<Tensor> values(net_.values.size());
    values[0] = tape_.empty(shape_of(0), autocast ? DType::kFp32 : weights_.front().weight->value.dtype);
    const Tensor labels = tape_.empty({batch_}, kIndexType);
    ConvStash stash(tape_, compression_, dropout_);
    for (std::size_t i = 0; i < net_.layers.size(); ++i) {
      const ConvLayer& layer = net_.layers[i];
      tape_.at(fmt::format("layer {}", i));
      values[static_cast<std::size_t>(layer.output)] = run(layer, values, stash);
      const Tensor& first = values[static_cast<std::size_t>(layer.inputs.front())];
      stash.ran(layer, first, values[static_cast<std::size_t>(layer.output)]);
      for (const std::int64_t input : layer.inputs) {
        // The image stays with the training loop.
        if (input > 0 && last_use_[static_cast<std::size_t>(input)] == i) values[static_cast<std::size_t>(input)] = {};
      }
      stash.let_go(values);
    }
    tape_.at("loss");
    result.loss = cross_entropy(tape_, values.back());
    result.logits = values.back();  // small
  });
  return result;
}

}  // namespace plimsoll
