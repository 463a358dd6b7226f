#pragma once

#include <CLI/CLI.hpp>

#include "cli/options/fit_flags.h"
#include "cli/options/parallel_flags.h"
#include "cli/program/answered.h"

namespace plimsoll {

/// How an answer is written; neither: for people.
struct AnswerForm {
  bool json = false;
  bool csv = false;
};

/// `fit` on several GPUs: the layout is looked for, what was said of it stays. `limit`: layouts of the front that are listed.
Result<Answered> fit_parallel(const CLI::App& command, const FitFlags& flags, const ParallelFlags& parallel,
                              const AnswerForm& form, std::size_t limit = 8);

}  // namespace plimsoll
