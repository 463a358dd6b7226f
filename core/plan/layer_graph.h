#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/result.h"
#include "core/base/strong_id.h"

namespace plimsoll {

using LayerId = StrongId<struct LayerTag>;

/// One way to run a layer on `degree` devices that share its tensors.
struct LayerWay {
  std::string name;
  std::size_t degree = 1;
  double seconds = 0;                    ///< of one sample's forward and backward
  Bytes parameters;                      ///< of one device, which replicas sum the gradients of
  Bytes stashed;                         ///< on one device for each micro-batch between its forward and its backward
  Bytes fixed;                           ///< on one device, whatever the number of those
  std::map<LayerId, Bytes> input_sync;   ///< more to move when that layer is in another stage
  std::map<LayerId, Bytes> output_sync;  ///< the same for layers that read this one
};

/// What a profile says of one layer.
struct Layer {
  std::string name;
  double forward_seconds = 0;
  double backward_seconds = 0;
  Bytes output;
  Bytes parameters;
  std::vector<LayerWay> ways;  ///< none: on one device only, as stated above
};

/// `to` reads `bytes` that `from` wrote.
struct LayerEdge {
  LayerId from, to;
  Bytes bytes;
};

/// A profiled model: layers without an order, and who reads whose output.
struct LayerGraph {
  std::vector<Layer> layers;
  std::vector<LayerEdge> edges;
};

/// All layers so that each stands after those that it reads, by id where there is a choice; an error names a circle.
Result<std::vector<LayerId>> topological_order(const LayerGraph& graph);

}  // namespace plimsoll
