#pragma once

#include <memory>
#include <vector>

#include "core/model/conv_layers.h"
#include "sim/stack/tape/stashed_map.h"

namespace plimsoll {

/// Watches the layers of a convolutional net's forward pass: what each reads in its backward pass, which maps nobody in the forward
/// pass needs any more. Those are encoded then, and decoded when the first layer asks for their numbers.
class ConvStash {
 public:
  ConvStash(Tape& tape, const MapCompression& compression, double dropout)
      : tape_(tape), compression_(compression), dropout_(dropout) {}

  /// Of a max pool that this layer is.
  [[nodiscard]] std::int64_t bits_of_place(const ConvLayer& layer) const;
  /// After a layer has made `out` from `in`. Layers without a gradient have saved nothing.
  void ran(const ConvLayer& layer, const Tensor& in, const Tensor& out);
  /// After values have been let go: what none of `values` holds is put away.
  void let_go(const std::vector<Tensor>& values);

 private:
  using Map = std::shared_ptr<StashedMap>;

  Map& map_of(const Tensor& x);
  void reads(const Tensor& made, const Map& map);
  [[nodiscard]] double zeros_after(const ConvLayer& layer, double before) const;

  Tape& tape_;
  MapCompression compression_;
  double dropout_;
  std::vector<Map> maps_;  ///< of storages that the forward pass still needs
};

}  // namespace plimsoll
