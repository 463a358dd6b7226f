#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/trainers/training_file.h"

namespace plimsoll {

/// Whether a word in MODEL's place is a training file's path, by its ending: .yaml or .yml.
bool names_training_file(std::string_view word);

/// Reads one training from the files that describe it together, the later one winning; at most 1 MiB each. A DeepSpeed configuration that one
/// of them names is looked for where the program was started, beside the file and up to three folders above it.
Result<TrainingFile> read_training_files(const std::vector<std::string>& paths);

}  // namespace plimsoll
