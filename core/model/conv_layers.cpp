#include "core/model/conv_layers.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace plimsoll {
namespace {

using Kind = ConvLayerKind;

constexpr std::int64_t kExpansion = 4;       // of a bottleneck, and of a dense layer's inner width
constexpr std::int64_t kWidest = 512;        // VGG
constexpr std::int64_t kHiddenWidth = 4096;  // of VGG's classifier
constexpr std::int64_t kCells = 7;           // that VGG's classifier reads of a side

/// Adds layers one by one; each call gives the number of the value that it makes.
class NetWriter {
 public:
  explicit NetWriter(const ModelSpec& spec) : spec_(spec) {
    net_.values.push_back({spec.image.channels, spec.image.size, spec.image.size});
  }

  ConvLayers write() {
    if (spec_.conv.kind == ConvNetKind::kResNet) resnet();
    if (spec_.conv.kind == ConvNetKind::kVgg) vgg();
    if (spec_.conv.kind == ConvNetKind::kDenseNet) densenet();
    return std::move(net_);
  }

 private:
  [[nodiscard]] const ConvValue& at(std::int64_t value) const { return net_.values[static_cast<std::size_t>(value)]; }

  std::int64_t add(ConvLayer layer, ConvValue made) {
    layer.block = block_;
    layer.channels = at(layer.inputs.front()).channels;
    layer.outputs = made.channels;
    layer.output = static_cast<std::int64_t>(net_.values.size());
    net_.values.push_back(made);
    net_.layers.push_back(std::move(layer));
    return net_.layers.back().output;
  }

  /// Of a window that moves over the planes.
  std::int64_t windowed(ConvLayer layer, std::int64_t channels) {
    const ConvValue x = at(layer.inputs.front());
    const auto side = [&](std::int64_t n) { return (n + 2 * layer.padding - layer.kernel) / layer.stride + 1; };
    return add(layer, {channels, side(x.height), side(x.width)});
  }

  std::int64_t convolution(std::int64_t x, std::int64_t outputs, std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1,
                           bool bias = false) {
    return windowed({.kind = Kind::kConvolution, .inputs = {x}, .kernel = kernel, .stride = stride, .padding = kernel / 2,
                     .groups = groups, .bias = bias},
                    outputs);
  }

  std::int64_t pool(Kind kind, std::int64_t x, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    return windowed({.kind = kind, .inputs = {x}, .kernel = kernel, .stride = stride, .padding = padding}, at(x).channels);
  }

  std::int64_t same(Kind kind, std::int64_t x, bool in_place = false) {
    return add({.kind = kind, .inputs = {x}, .in_place = in_place}, at(x));
  }

  std::int64_t norm_relu(std::int64_t x) { return same(Kind::kRelu, same(Kind::kBatchNorm, x), true); }

  std::int64_t linear(std::int64_t x, std::int64_t outputs) {
    return add({.kind = Kind::kLinear, .inputs = {x}, .bias = true}, {outputs, 1, 1});
  }

  std::int64_t flatten(std::int64_t x) { return add({.kind = Kind::kFlatten, .inputs = {x}}, {at(x).elements(), 1, 1}); }

  std::int64_t means(std::int64_t x, std::int64_t cells) {
    return add({.kind = Kind::kGlobalPool, .inputs = {x}, .kernel = cells}, {at(x).channels, cells, cells});
  }

  std::int64_t stem(std::int64_t width) {
    return pool(Kind::kMaxPool, norm_relu(convolution(0, width, 7, 2)), 3, 2, 1);
  }

  std::int64_t residual(std::int64_t x, std::int64_t planes, std::int64_t stride) {
    const ConvNet& net = spec_.conv;
    const std::int64_t inner = planes * net.width / 64 * net.groups;
    const std::int64_t outputs = net.bottleneck ? kExpansion * planes : planes;
    std::int64_t y = net.bottleneck ? norm_relu(convolution(x, inner, 1)) : norm_relu(convolution(x, planes, 3, stride));
    if (net.bottleneck) y = norm_relu(convolution(y, inner, 3, stride, net.groups));
    y = same(Kind::kBatchNorm, convolution(y, outputs, net.bottleneck ? 1 : 3));
    const bool changes = stride != 1 || at(x).channels != outputs;
    const std::int64_t kept = changes ? same(Kind::kBatchNorm, convolution(x, outputs, 1, stride)) : x;
    return same(Kind::kRelu, add({.kind = Kind::kAdd, .inputs = {y, kept}, .in_place = true}, at(y)), true);
  }

  void resnet() {
    std::int64_t x = stem(64), planes = 64;
    block_ = -1;
    for (std::size_t stage = 0; stage < spec_.conv.depths.size(); ++stage, planes *= 2) {
      for (std::int64_t i = 0; i < spec_.conv.depths[stage]; ++i) {
        ++block_;
        x = residual(x, planes, i == 0 && stage > 0 ? 2 : 1);
      }
    }
    block_ = ConvLayer::kHead;
    linear(flatten(means(x, 1)), spec_.classes);
  }

  void vgg() {
    std::int64_t x = 0, planes = 64;
    block_ = -1;
    for (const std::int64_t depth : spec_.conv.depths) {
      for (std::int64_t i = 0; i < depth; ++i) {
        ++block_;
        x = convolution(x, planes, 3, 1, 1, true);
        if (spec_.conv.batch_norm) x = same(Kind::kBatchNorm, x);
        x = same(Kind::kRelu, x, true);
      }
      x = pool(Kind::kMaxPool, x, 2, 2, 0);
      planes = std::min(kWidest, 2 * planes);
    }
    block_ = ConvLayer::kHead;
    x = flatten(means(x, kCells));
    for (int i = 0; i < 2; ++i) x = same(Kind::kDropout, same(Kind::kRelu, linear(x, kHiddenWidth), true));
    linear(x, spec_.classes);
  }

  /// All that its stage has made so far, side by side.
  std::int64_t concatenated(const std::vector<std::int64_t>& made) {
    ConvValue all = at(made.front());
    all.channels = std::accumulate(made.begin(), made.end(), std::int64_t{0}, [&](std::int64_t sum, std::int64_t v) { return sum + at(v).channels; });
    return add({.kind = Kind::kConcatenate, .inputs = made}, all);
  }

  void densenet() {
    const std::int64_t growth = spec_.conv.growth;
    std::int64_t x = stem(spec_.conv.width);
    block_ = -1;
    for (std::size_t stage = 0; stage < spec_.conv.depths.size(); ++stage) {
      std::vector<std::int64_t> made{x};
      for (std::int64_t i = 0; i < spec_.conv.depths[stage]; ++i) {
        ++block_;
        const std::int64_t inner = norm_relu(convolution(norm_relu(concatenated(made)), kExpansion * growth, 1));
        made.push_back(convolution(inner, growth, 3));
      }
      x = concatenated(made);
      if (stage + 1 == spec_.conv.depths.size()) break;
      ++block_;
      x = pool(Kind::kAveragePool, convolution(norm_relu(x), at(x).channels / 2, 1), 2, 2, 0);
    }
    block_ = ConvLayer::kHead;
    linear(flatten(means(norm_relu(x), 1)), spec_.classes);
  }

  const ModelSpec& spec_;
  ConvLayers net_;
  std::int64_t block_ = ConvLayer::kStem;
};

}  // namespace

ConvLayers conv_layers(const ModelSpec& spec) { return NetWriter(spec).write(); }

std::int64_t conv_blocks(const ConvNet& net) {
  const std::int64_t all = std::accumulate(net.depths.begin(), net.depths.end(), std::int64_t{0});
  const bool transitions = net.kind == ConvNetKind::kDenseNet && !net.depths.empty();
  return transitions ? all + static_cast<std::int64_t>(net.depths.size()) - 1 : all;
}

double conv_forward_flops(const ModelSpec& spec) {
  const ConvLayers net = conv_layers(spec);
  double flops = 0;
  for (const ConvLayer& layer : net.layers) {
    if (layer.kind != Kind::kConvolution && layer.kind != Kind::kLinear) continue;
    const ConvValue& made = net.values[static_cast<std::size_t>(layer.output)];
    flops += 2.0 * static_cast<double>(layer.inputs_per_output()) * static_cast<double>(made.elements());
  }
  return flops;
}

}  // namespace plimsoll
