#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "formats/models/onnx_graph.h"
#include "sim/stack/stack_model_maker.h"

namespace plimsoll {

/// How a graph is trained: what the file leaves open.
struct OnnxUse {
  std::int64_t batch = 0;     ///< samples of a micro-batch; 0: as the file has it (1 where it says none)
  std::int64_t sequence = 0;  ///< for dimensions that have only a name, besides the first; 0: none was said
  bool flash = true;          ///< attention that the exporter spelled out runs fused
};

/// The graph as a model on a tape; refused when it holds operators that are not known here (each is named, with how often it
/// occurs) or shapes that do not go together with `use`.
Result<StackModelMaker> onnx_maker(std::shared_ptr<const OnnxGraph> graph, const OnnxUse& use);

/// What of the graph was taken for what, in words: constants that are trained and those that are not, batch norms that the
/// exporter folded away, masks.
std::vector<std::string> onnx_notes(const OnnxGraph& graph, const OnnxUse& use);

/// Samples of a micro-batch as the file states them; 1 where it leaves them open.
std::int64_t stated_batch(const OnnxGraph& graph);

}  // namespace plimsoll
