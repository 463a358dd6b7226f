#pragma once

#include <string>
#include <vector>

#include "cli/program/command_table.h"

namespace plimsoll {

/// Names that a completion knows beside the options.
struct CompletionNames {
  std::vector<std::string> models;  ///< of the zoo
  std::vector<std::string> gpus;    ///< of the catalogue
};

/// What bash, zsh or fish loads to complete the program's commands, options and the values that are known.
std::string bash_completion(const std::vector<CommandRow>& table, const CompletionNames& names);
std::string zsh_completion(const std::vector<CommandRow>& table, const CompletionNames& names);
std::string fish_completion(const std::vector<CommandRow>& table, const CompletionNames& names);

}  // namespace plimsoll
