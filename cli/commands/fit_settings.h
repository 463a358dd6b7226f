#pragma once

#include <CLI/CLI.hpp>

#include "cli/commands/fit_parallel.h"

namespace plimsoll {

/// `fit --best-settings`: another program's settings that nobody said are chosen.
Result<Answered> fit_settings(const CLI::App& command, const FitFlags& flags, const AnswerForm& form);

}  // namespace plimsoll
