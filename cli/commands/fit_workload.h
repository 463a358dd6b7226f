#pragma once

#include "cli/options/machine_flags.h"
#include "cli/options/stack_flags.h"
#include "cli/options/training_flags.h"
#include "cli/options/workload_flags.h"
#include "cli/program/answered.h"

namespace plimsoll {

/// What a workload beside training asks for.
struct WorkloadRequest {
  std::string model;
  MachineFlags machine;
  TrainingFlags training;
  WorkloadFlags workload;
  StackFlags stack;
  std::string calibration;
  std::string samples;  ///< --samples: how long the whole training is, where a workload says
  bool json = false;
  bool csv = false;
};

/// `fit MODEL --workload NAME`; an unknown name is an error that lists those that are known.
Result<Answered> fit_workload(const WorkloadRequest& request);

Result<Answered> fit_inference(const WorkloadRequest& request);
/// "dpo" and "ppo".
Result<Answered> fit_alignment(const WorkloadRequest& request);
/// What a net is asked for: "diffusion" or "evoformer"; empty for any other model.
std::string workload_of_net(const std::string& model);
struct NetAnswer;
/// "diffusion" and "evoformer": nets that no ModelSpec says, under PyTorch.
Result<NetAnswer> answer_net(const WorkloadRequest& request);
Result<Answered> fit_net(const WorkloadRequest& request);
/// `fit FILE.onnx`: the forward pass that somebody exported, trained under PyTorch.
Result<Answered> fit_onnx(const WorkloadRequest& request);
/// MODEL is a file of a recorded step (docs/graph-format.md), trained under PyTorch. What the recording has decided cannot be
/// asked for again.
Result<Answered> fit_graph(const WorkloadRequest& request);

}  // namespace plimsoll
