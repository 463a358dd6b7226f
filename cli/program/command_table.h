#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace plimsoll {

/// An option as completions and the manual tell of it.
struct OptionRow {
  std::string name;   ///< "--on", or "MODEL" of an argument without a dash
  std::string brief;  ///< "-o"; may be empty
  std::string value;  ///< "TEXT"; empty of a flag
  std::vector<std::string> choices;  ///< the only values there are; empty where any will do
  std::string help;
};

struct CommandRow {
  std::string name;
  std::string help;
  std::string footer;  ///< examples
  std::vector<OptionRow> arguments;
  std::vector<OptionRow> options;
};

/// All commands of the program with their options, in the order of its help.
std::vector<CommandRow> command_table(const CLI::App& program);

}  // namespace plimsoll
