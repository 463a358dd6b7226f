#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

enum class ConvNetKind : std::uint8_t {
  kNone,
  kResNet,    ///< He et al. 2016, with the stride on a bottleneck's 3 x 3 convolution, as torchvision has it
  kVgg,       ///< Simonyan and Zisserman 2015
  kDenseNet,  ///< Huang et al. 2017
};

/// A convolutional net that tells classes of images apart (their size, channels and classes stand in the ModelSpec). What it
/// is made of, layer by layer and with the shapes in between, is said by conv_layers.
struct ConvNet {
  ConvNetKind kind = ConvNetKind::kNone;
  std::vector<std::int64_t> depths;  ///< of each stage: residual blocks, convolutions before a pool (VGG), dense layers
  bool bottleneck = false;           ///< ResNet: 1 x 1, 3 x 3 and 1 x 1 convolutions a block, the last four times as wide
  std::int64_t width = 64;           ///< ResNet: of a 3 x 3 convolution of the first stage, times 64; DenseNet: of the stem
  std::int64_t groups = 1;           ///< ResNet: of 3 x 3 convolutions (ResNeXt)
  bool batch_norm = false;           ///< VGG: behind every convolution
  std::int64_t growth = 0;           ///< DenseNet: channels that a dense layer adds

  bool operator==(const ConvNet&) const = default;
};

std::string_view to_text(ConvNetKind kind);

/// " conv=resnet depths=3,4,6,3 …": every field; empty of kNone.
std::string canonical_text(const ConvNet& net);

}  // namespace plimsoll
