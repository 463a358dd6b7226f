#include "core/model/conv_layers.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "core/model/parameters.h"

using namespace plimsoll;

namespace {

ModelSpec net(ConvNet conv, std::int64_t size = 224, std::int64_t classes = 1000) {
  ModelSpec spec = with_classes(family_defaults(Family::kConvNet), classes);
  spec.name = "net";
  spec.conv = std::move(conv);
  spec.image.size = size;
  spec.layers = conv_blocks(spec.conv);
  spec.hidden = spec.head_dim = spec.ffn = 1;
  return spec;
}

ModelSpec resnet50() { return net({.kind = ConvNetKind::kResNet, .depths = {3, 4, 6, 3}, .bottleneck = true}); }
ModelSpec vgg16() { return net({.kind = ConvNetKind::kVgg, .depths = {2, 2, 3, 3, 3}}); }
ModelSpec densenet121() { return net({.kind = ConvNetKind::kDenseNet, .depths = {6, 12, 24, 16}, .growth = 32}); }

std::int64_t count(const ConvLayers& layers, ConvLayerKind kind) {
  return std::count_if(layers.layers.begin(), layers.layers.end(), [&](const ConvLayer& layer) { return layer.kind == kind; });
}

}  // namespace

TEST_CASE("every layer reads values that stand before the one that it makes, and the last value holds the logits") {
  for (const ModelSpec& spec : {resnet50(), vgg16(), densenet121()}) {
    REQUIRE(validate(spec));
    const ConvLayers made = conv_layers(spec);
    REQUIRE(made.values.size() == made.layers.size() + 1);
    for (std::size_t i = 0; i < made.layers.size(); ++i) {
      const ConvLayer& layer = made.layers[i];
      CHECK(layer.output == static_cast<std::int64_t>(i) + 1);
      CHECK_FALSE(layer.inputs.empty());
      for (const std::int64_t input : layer.inputs) CHECK(input < layer.output);
      CHECK(layer.outputs == made.values[i + 1].channels);
      CHECK(layer.block < spec.layers);
    }
    CHECK(made.values.back().channels == 1000);
    CHECK(made.values.back().elements() == 1000);
  }
}

TEST_CASE("ResNet-50's planes shrink from 224 to 7 and its blocks end in 256, 512, 1024 and 2048 channels") {
  const ConvLayers made = conv_layers(resnet50());
  CHECK(count(made, ConvLayerKind::kConvolution) == 53);  // 1 + 16·3 + 4 that widen what a block adds to
  CHECK(count(made, ConvLayerKind::kBatchNorm) == 53);
  CHECK(count(made, ConvLayerKind::kAdd) == 16);
  CHECK(made.values[1].height == 112);
  std::vector<std::int64_t> channels, sides;
  for (const ConvLayer& layer : made.layers) {
    if (layer.kind != ConvLayerKind::kAdd) continue;
    const ConvValue& sum = made.values[static_cast<std::size_t>(layer.output)];
    if (channels.empty() || channels.back() != sum.channels) channels.push_back(sum.channels), sides.push_back(sum.width);
  }
  CHECK(channels == std::vector<std::int64_t>{256, 512, 1024, 2048});
  CHECK(sides == std::vector<std::int64_t>{56, 28, 14, 7});
}

TEST_CASE("a forward pass takes the published multiply-adds") {
  // torchvision's tables: 4.09, 15.47 and 2.83 billion.
  CHECK(conv_forward_flops(resnet50()) == Approx(2 * 4.09e9).epsilon(0.002));
  CHECK(conv_forward_flops(vgg16()) == Approx(2 * 15.47e9).epsilon(0.002));
  CHECK(conv_forward_flops(densenet121()) == Approx(2 * 2.83e9).epsilon(0.002));
}

TEST_CASE("convolutional nets have exactly the published parameters, in groups that hold each once") {
  for (const auto& [spec, parameters] : {std::pair(resnet50(), 25'557'032), std::pair(vgg16(), 138'357'544), std::pair(densenet121(), 7'978'856)}) {
    const ParameterLayout layout = lay_out_parameters(spec);
    CHECK(layout.elements() == parameters);
    CHECK(layout.groups.size() == static_cast<std::size_t>(spec.layers) + 2);
    for (const ParameterGroup& group : layout.groups) {
      std::int64_t next = 0;
      for (const ParameterTensor& tensor : group.tensors) {
        CHECK(tensor.offset == next);
        next += tensor.elements();
      }
      CHECK(next == group.elements);
    }
  }
  // Ten classes in place of a thousand: 990 rows of 2048 and a bias each.
  ModelSpec ten = with_classes(resnet50(), 10);
  CHECK(parameter_count(ten) == 25'557'032 - 990 * 2049);
}

TEST_CASE("a convolutional net without stages, growth, classes or room for its pools is refused by name") {
  ModelSpec none = resnet50();
  none.conv.depths.clear();
  CHECK_THAT(validate(none).error().text(), Catch::Contains("stages"));
  ModelSpec dense = densenet121();
  dense.conv.growth = 0;
  CHECK_THAT(validate(dense).error().text(), Catch::Contains("growth"));
  CHECK_THAT(validate(net({.kind = ConvNetKind::kVgg, .depths = {1, 1, 1, 1, 1}}, 16)).error().text(), Catch::Contains("pixels"));
  ModelSpec counted = vgg16();
  counted.layers = 3;
  CHECK_THAT(validate(counted).error().text(), Catch::Contains("layers=3"));
}
