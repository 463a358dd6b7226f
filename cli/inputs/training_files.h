#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// A command line whose training files are replaced by what they say.
struct ExpandedLine {
  std::vector<std::string> words;
  std::string said;  ///< for standard error: what the files were read as, what was left out and why; empty without such files
};

/// Replaces words that name training files of other programs (.yaml, .yml) in MODEL's place by their model and options. Options that were typed
/// win over theirs; where an own plan is asked for (--strategy, --stack plimsoll) what only other programs have is left out, and so is
/// what the command does not know. Lines without such files, and of commands that train nothing, come back as they are.
Result<ExpandedLine> with_training_files(const CLI::App& app, std::vector<std::string> words);

}  // namespace plimsoll
