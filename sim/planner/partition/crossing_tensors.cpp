#include "sim/planner/partition/crossing_tensors.h"

#include <algorithm>

namespace plimsoll {

CrossingTensors::CrossingTensors(const Ideals& ideals)
    : ideals_(ideals), readers_(ideals.graph().layers.size()), open_(ideals.count()) {
  for (const LayerEdge& edge : ideals.graph().edges) readers_[edge.from.index].push_back(edge.to);
  for (std::size_t i = 0; i < ideals.count(); ++i) {
    for (std::size_t k = 0; k < readers_.size(); ++k) {
      const auto outside = [&](LayerId reader) { return !ideals[i].has(reader); };
      const bool open = ideals[i].has(LayerId(k)) && std::any_of(readers_[k].begin(), readers_[k].end(), outside);
      if (open) open_[i].push_back(LayerId(k));
    }
  }
}

bool CrossingTensors::reads(std::size_t first, std::size_t second, LayerId from) const {
  const auto in_stage = [&](LayerId reader) { return ideals_[second].has(reader) && !ideals_[first].has(reader); };
  return std::any_of(readers_[from.index].begin(), readers_[from.index].end(), in_stage);
}

Bytes CrossingTensors::crossing(std::size_t first, std::size_t second) const {
  Bytes bytes;
  for (const LayerId id : open_[first]) {
    if (reads(first, second, id)) bytes += ideals_.graph().layers[id.index].output;
  }
  for (const LayerId id : open_[second]) {
    if (!ideals_[first].has(id)) bytes += ideals_.graph().layers[id.index].output;
  }
  return bytes;
}

}  // namespace plimsoll
