#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

#include "cli/program/exit_code.h"
#include "core/base/result.h"

namespace plimsoll {

/// What a command answers, before anybody prints it.
struct Answered {
  ExitCode code = ExitCode::kDone;
  std::string text;  ///< for standard output
  std::string said;  ///< for standard error: what was written where; may be empty
};

/// A command with its options, and how to answer it once they are parsed. It prints nothing but a waiting line on a terminal.
struct AskableCommand {
  CLI::App* command = nullptr;
  std::function<Result<Answered>()> ask;
};

/// Commands that other programs ask, too: each adds itself with its options.
AskableCommand declare_fit(CLI::App& app);
AskableCommand declare_plan(CLI::App& app);
AskableCommand declare_simulate(CLI::App& app);
AskableCommand declare_replay(CLI::App& app);
AskableCommand declare_compare(CLI::App& app);

/// The program's way to answer: prints, and tells in `code` how it ended.
void print_when_called(AskableCommand declared, ExitCode& code);

}  // namespace plimsoll
