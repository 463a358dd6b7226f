#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace plimsoll {

/// A keyword argument: the option's name without dashes and its values as texts. None: a flag that is set.
using Keyword = std::pair<std::string, std::vector<std::string>>;

/// How a command ended that was asked with keywords instead of a command line.
struct AskedCommand {
  std::string json;            ///< its --json answer; empty where there is an error
  std::string said;            ///< what the program would have said on standard error
  int exit_code = 0;           ///< of the program in its place
  std::optional<Error> error;  ///< in the program's words
};

/// Asks fit, plan, simulate, replay or compare about `subjects`, its arguments without a name. Thread-safe; prints nothing but a
/// waiting line on a terminal. An option that the command does not have is an error, as on the command line.
AskedCommand ask_command(const std::string& name, const std::vector<std::string>& subjects, const std::vector<Keyword>& keywords);

/// The kind of its error as scripts know it: "input", "unknown_name", "infeasible", …; empty where there is none.
std::string kind_of(const AskedCommand& asked);

/// An option of a command, for stubs and documents.
struct CommandOption {
  std::string name;    ///< as a keyword: "what_would_help"
  bool flag = false;   ///< takes no value
  bool many = false;   ///< takes a list
  std::string help;
};

/// All options of a command but --json and --help, in the order of its help. Unknown commands have none.
std::vector<CommandOption> command_options(const std::string& name);

}  // namespace plimsoll
