#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/plan/layer_graph.h"

namespace plimsoll {

/// A profile, and what the file itself says of the machine; 0 where it says nothing.
struct LayerProfile {
  LayerGraph graph;
  bool has_ways = false;  ///< Piper's format
  std::size_t devices = 0;
  Bytes memory;
  double bandwidth = 0;
  std::size_t micro_batches = 0;
};

/// Most layers that a reader accepts.
inline constexpr std::size_t kMostLayers = 10'000;

/// Reads PipeDream's `graph.txt` or, when the text is a JSON object, Piper's profile. Inputs of the model and outputs that
/// nothing reads (`__getitem__`) are left out of PipeDream's, as that planner does. Errors name the file and the line or key.
Result<LayerProfile> read_layer_profile(std::string_view text, const std::string& where);

/// Each of the two formats.
Result<LayerProfile> read_pipedream_profile(std::string_view text, const std::string& where);
Result<LayerProfile> read_piper_profile(std::string_view text, const std::string& where);

}  // namespace plimsoll
