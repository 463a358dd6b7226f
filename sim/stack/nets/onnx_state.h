#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/models/onnx_graph.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {

/// A value while an ONNX graph runs without numbers.
struct OnnxState {
  Tensor tensor;                      ///< nothing for shapes and indices that are known
  Shape shape;                        ///< as the graph sees it
  std::vector<std::int64_t> numbers;  ///< of a small value of whole numbers
  bool known = false;                 ///< `numbers` holds them all
  bool whole = false;                 ///< indices and masks: no gradient goes through
  Parameter* weight = nullptr;        ///< it is this weight, perhaps transposed

  [[nodiscard]] std::int64_t elements() const { return elements_of(shape); }
};

/// One node with what it reads, while it runs.
struct OnnxCall {
  Tape& tape;
  const OnnxGraph& graph;
  const OnnxNode& node;
  std::vector<OnnxState*> inputs;  ///< null: left out
  std::int64_t stated_batch = 1;   ///< of the file
  std::int64_t batch = 1;          ///< of this run

  [[nodiscard]] bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  [[nodiscard]] OnnxState& at(std::size_t i) const;
  /// A tensor to compute with; a constant gets memory for the moment.
  [[nodiscard]] Tensor tensor(std::size_t i) const;
  /// The whole numbers of an input, or of the attribute that older operator sets have in its place.
  [[nodiscard]] std::vector<std::int64_t> numbers(std::size_t i, const char* attribute) const;
  [[noreturn]] void refuse(const std::string& what) const;
};

/// What the node makes of whole numbers that are all known (shapes, indices); false when they are not, or the node is another.
bool evaluate_numbers(const OnnxCall& call, OnnxState& out);

/// Shapes as ONNX broadcasts them.
Shape broadcast(const OnnxCall& call, const Shape& a, const Shape& b);

/// Refuses a tensor of fewer dimensions.
void need_rank(const OnnxCall& call, std::size_t input, std::size_t rank);

/// −1 counted from the last dimension.
std::size_t dimension_of(const OnnxCall& call, std::int64_t axis, std::size_t rank);

/// Runs the node on tensors.
std::vector<OnnxState> run_onnx_operator(const OnnxCall& call);

/// Whether run_onnx_operator knows it.
bool knows_onnx_operator(const OnnxNode& node);

}  // namespace plimsoll
