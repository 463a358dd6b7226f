#pragma once

#include <string>

#include "formats/exporters/exported_training.h"

namespace plimsoll {

/// "megatron has no …": an input error with a remedy.
tl::unexpected<Error> cannot_export(std::string what, std::string remedy);

/// Refuses what no target can be told: delayed updates, fp64, a plan whose data lies where `who` cannot put it.
/// `furthest` is the last tier that the target knows for parameters and optimizer states, `activations` that for
/// checkpoints.
struct TargetReach {
  std::string who;
  Tier parameters = Tier::kDevice;
  Tier optimizer = Tier::kDevice;
  Tier activations = Tier::kDevice;
};
Result<void> check_reach(const ExportedTraining& training, const TargetReach& reach);

/// What of a plan's timing the target decides itself, as notes.
void note_timing(const ExportedTraining& training, const std::string& who, std::vector<std::string>& notes);

/// What no configuration says and the training program must bring: the model, the sequence, adapters.
void note_model(const ExportedTraining& training, std::vector<std::string>& notes);

}  // namespace plimsoll
