#pragma once

#include <string>
#include <vector>

#include "cli/options/machine_flags.h"
#include "cli/options/stack_flags.h"
#include "cli/options/training_flags.h"
#include "sim/answers/question.h"

namespace plimsoll {

/// A training under another program than ours, as the options state it.
struct OtherStack {
  ModelSpec spec;
  Recipe recipe;
  StackSetup setup;  ///< of the program; setup_on joins it to the machine
  CataloguedMachine machine;  ///< the GPU may be one that a machine file states
  std::vector<std::string> notes;
};

/// The GPUs that it is trained on: "RTX 4090", "4 x RTX 4090".
std::string boards_of(const OtherStack& other);

/// Reads the options; what does not go with another stack, or is missing for it, is refused by name. The GPU is one of the
/// catalogue, or one that a machine file states.
Result<OtherStack> read_other_stack(const std::string& model, const StackFlags& stack, const MachineFlags& machine,
                                    const TrainingFlags& training, const std::string& strategy);

}  // namespace plimsoll
