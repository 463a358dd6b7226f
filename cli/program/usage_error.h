#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "core/base/error.h"

namespace plimsoll {

/// What a line that cannot be read is answered with, on the command line and in Python: the command, the option, and
/// how to ask for help. `words` are the line's, without the program's name, as `app` was given them.
Error usage_error(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words);

}  // namespace plimsoll
