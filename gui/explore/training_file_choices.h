#pragma once

#include "gui/explore/choices.h"

namespace plimsoll::gui {

/// The choices that a training file of another program (.yaml) stands for, on the machine of `before`: what has a field fills it, the rest
/// are further options. An error names the file and the key.
Result<Choices> with_training_file(const Choices& before, const QString& path);

}  // namespace plimsoll::gui
