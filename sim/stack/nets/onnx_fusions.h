#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/models/onnx_graph.h"

namespace plimsoll {

/// What stands in place of several nodes; it runs where the last of them stood.
struct OnnxFusion {
  enum class Kind { kLinear, kSilu, kReciprocalRoot, kAttention };
  Kind kind = Kind::kLinear;
  std::string x;       ///< input; of attention the queries
  std::string weight;  ///< of a linear layer; of attention the keys
  std::string bias;    ///< of a linear layer; of attention the values
  bool keys_transposed = false;  ///< the keys stand as [.., head, sequence]
  bool causal = false;           ///< the mask is a constant square: none of its upper half is computed
};

/// Exporters spell out what PyTorch runs as one operator. These are found again: a product with a weight and its bias, SiLU, a
/// reciprocal root, and (with `attention`) softmax(q kᵀ) v with its scaling and mask.
struct OnnxFusions {
  std::vector<bool> dropped;                     ///< by node: part of a fusion and not its last
  std::map<std::size_t, OnnxFusion> fusions;     ///< by the last node of each
};

OnnxFusions find_onnx_fusions(const OnnxGraph& graph, bool attention);

/// Constants that a training changes: floating point where a layer has its weight, bias or table. The rest are buffers: masks,
/// rotations, numbers.
std::vector<std::string> trained_constants(const OnnxGraph& graph);

/// Constants that a product reads as [inputs, outputs]; PyTorch's linear layers hold [outputs, inputs].
bool stands_transposed(const OnnxGraph& graph, const std::string& constant);

}  // namespace plimsoll
