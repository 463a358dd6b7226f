#pragma once

#include <memory>
#include <vector>

#include "formats/graphs/step_graph.h"
#include "sim/stack/modules/stack_model.h"

namespace plimsoll {

/// A model of which nothing is known but what a framework did in one step: it does the same in every step.
class RecordedModel : public StackModel {
 public:
  RecordedModel(Tape& tape, std::shared_ptr<const StepGraph> graph);

  /// The recorded types stand: `autocast` is theirs already.
  Loss loss(std::optional<DType> autocast) override;

 private:
  struct Pass;  ///< what lives of one micro-batch

  void run(Pass& pass, const GraphOp& op);
  void launch(const GraphLaunch& launch);
  void enter(const std::string& module);

  Tape& tape_;
  std::shared_ptr<const StepGraph> graph_;
  std::vector<Parameter*> parameters_;
  std::vector<Tensor> held_;  ///< buffers and inputs
};

}  // namespace plimsoll
