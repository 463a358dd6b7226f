#pragma once

#include <cstdint>
#include <vector>

#include "core/model/model_spec.h"

namespace plimsoll {

/// What one module of a convolutional net does. An input's channels are concatenated by kConcatenate and summed by kAdd; every
/// other layer has one input.
enum class ConvLayerKind : std::uint8_t {
  kConvolution,
  kBatchNorm,      ///< over batch, height and width, a weight and a bias a channel; its running statistics are no parameters
  kRelu,
  kMaxPool,
  kAveragePool,
  kGlobalPool,     ///< the mean of each channel over `kernel` x `kernel` cells of equal size (adaptive average pooling)
  kAdd,
  kConcatenate,
  kDropout,
  kFlatten,
  kLinear,
};

/// A value that flows: for one image, channels planes of height x width numbers.
struct ConvValue {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;

  [[nodiscard]] std::int64_t elements() const { return channels * height * width; }
};

/// A layer reads values by their numbers and makes one. Layers stand in the order in which the forward pass runs them.
struct ConvLayer {
  static constexpr std::int64_t kStem = -1, kHead = -2;

  ConvLayerKind kind = ConvLayerKind::kConvolution;
  std::vector<std::int64_t> inputs;
  std::int64_t output = 0;
  std::int64_t block = kStem;  ///< residual block, dense layer or transition, VGG convolution, counted over all stages
  std::int64_t channels = 0;   ///< of its first input
  std::int64_t outputs = 0;    ///< channels that it makes
  std::int64_t kernel = 1;     ///< square; of kGlobalPool the cells of a side that are left
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;
  bool bias = false;
  bool in_place = false;       ///< the output takes the input's place (ReLU)

  /// Columns of its weight: numbers of the input that one output is made of.
  [[nodiscard]] std::int64_t inputs_per_output() const {
    return kind == ConvLayerKind::kLinear ? channels : channels / groups * kernel * kernel;
  }
};

/// A net as the list of its layers. Value 0 is the image [channels, size, size]; the last value holds the classes' logits,
/// [classes, 1, 1], which a cross entropy with the image's label follows. A convolution or pool of kernel k, stride s and
/// padding p turns a side n into (n + 2p − k) / s + 1, rounded down; kFlatten turns [c, h, w] into [c·h·w, 1, 1].
///
/// ResNet: 7x7/2 convolution, norm, ReLU, 3x3/2 max pool; blocks of (convolution, norm, ReLU) × 2 or 3 whose last ReLU follows
/// the sum with the block's input, which a 1x1 convolution and a norm widen where channels or stride change; mean over each
/// plane; linear. VGG: 3x3 convolutions with bias [norm] ReLU, 2x2/2 max pools, 7x7 cells, three linear layers with ReLU and
/// dropout. DenseNet: a stem like ResNet's; every dense layer concatenates all before it in its stage, then norm, ReLU, 1x1 to
/// 4·growth, norm, ReLU, 3x3 to growth; transitions norm, ReLU, 1x1 to half, 2x2 mean; norm, ReLU, mean over each plane, linear.
struct ConvLayers {
  std::vector<ConvValue> values;
  std::vector<ConvLayer> layers;
};

/// Of a spec whose conv net and image are valid.
ConvLayers conv_layers(const ModelSpec& spec);

/// Blocks of a net, which its spec counts as layers.
std::int64_t conv_blocks(const ConvNet& net);

/// Multiply-adds, counted as two, of one image's forward pass through convolutions and linear layers.
double conv_forward_flops(const ModelSpec& spec);

}  // namespace plimsoll
