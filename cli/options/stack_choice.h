#pragma once

#include <string>
#include <vector>

#include "cli/options/training_flags.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// What --strategy means beside --stack: "auto" nothing; a published system's name, its choices in the program's own
/// software; a file of deepspeed's, what it says. Changes the setup, and the flags where the file decides them.
/// Refused: an option that says otherwise than the file, and what the program does not know.
Result<void> take_stack_choices(const std::string& strategy, const ModelSpec& spec, TrainingFlags& training,
                                StackSetup& setup, std::vector<std::string>& notes);

}  // namespace plimsoll
