#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/models/onnx_graph.h"
#include "sim/stack/modules/stack_model.h"
#include "sim/stack/nets/onnx_fusions.h"
#include "sim/stack/nets/onnx_state.h"
#include "sim/stack/nets/onnx_use.h"

namespace plimsoll {

/// A training step of an ONNX graph under PyTorch: its operators forward, a loss on its first output (cross entropy of the last
/// dimension; of one number, squared differences), and backward as autograd has it.
class OnnxNet : public StackModel {
 public:
  /// The graph must outlive the net. What cannot be run is thrown as an EnvironmentError of kind kInput that names the node.
  OnnxNet(Tape& tape, const OnnxGraph& graph, const OnnxUse& use, DType weights);

  Loss loss(std::optional<DType> autocast) override;

 private:
  void make_weights(DType weights);
  void feed(std::optional<DType> autocast);
  void run_nodes();
  Tensor fused_linear(const Tensor& x, const OnnxFusion& fusion);
  void run_node(std::size_t index);
  void forget_after(std::size_t index);
  OnnxState& input(const OnnxNode& node, std::size_t i);

  Tape& tape_;
  const OnnxGraph& graph_;
  OnnxUse use_;
  DType dtype_;
  OnnxFusions fusions_;
  std::map<std::string, Parameter*> weights_;
  std::map<std::string, OnnxState> values_;
  std::vector<std::vector<std::string>> last_read_;  ///< by node: values that nobody reads after it
  std::string output_;                               ///< of which the loss is taken
};

}  // namespace plimsoll
