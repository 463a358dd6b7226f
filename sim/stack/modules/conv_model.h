#pragma once

#include <optional>
#include <vector>

#include "core/model/conv_layers.h"
#include "sim/stack/modules/conv_stash.h"
#include "sim/stack/modules/stack_model.h"
#include "sim/stack/tape/convolutions.h"

namespace plimsoll {

/// A convolutional net as torchvision holds it, and the forward pass of one micro-batch up to the loss.
class ConvModel : public StackModel {
 public:
  ConvModel(Tape& tape, const ModelSpec& spec, std::int64_t batch, double dropout, const MapCompression& compression, DType weights);

  Loss loss(std::optional<DType> autocast) override;

 private:
  Tensor run(const ConvLayer& layer, const std::vector<Tensor>& values, const ConvStash& stash);
  [[nodiscard]] Shape shape_of(std::int64_t value) const;

  Tape& tape_;
  ConvLayers net_;
  std::vector<Weights> weights_;       ///< of each layer; empty where it has none
  std::vector<std::size_t> last_use_;  ///< of each value: the layer after which nobody reads it
  std::int64_t batch_;
  double dropout_;
  MapCompression compression_;
};

}  // namespace plimsoll
