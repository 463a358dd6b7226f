#pragma once

#include <string>
#include <string_view>

#include "formats/trainers/training_file.h"

namespace plimsoll {

/// What another program's name of an optimizer is in options of ours, "--optimizer adam8bit --paged-states"; RANK stands where a projection's
/// rank does. Empty where the name is not known.
std::string_view optimizer_options(std::string_view name);

/// The same, said in `file`; `rank` is what stands in RANK's place. False where the name is not known.
bool say_optimizer(TrainingFile& file, std::string_view name, std::string_view rank = "128");

}  // namespace plimsoll
