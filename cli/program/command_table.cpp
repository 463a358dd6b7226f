#include "cli/program/command_table.h"

#include <sstream>

namespace plimsoll {
namespace {

/// What stands in braces of "TEXT:{static,auto}".
std::vector<std::string> choices_in(const std::string& type) {
  std::vector<std::string> choices;
  const auto open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return choices;
  std::istringstream list(type.substr(open + 1, close - open - 1));
  for (std::string choice; std::getline(list, choice, ',');) choices.push_back(choice);
  return choices;
}

OptionRow row_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  OptionRow row{.name = option.get_positional() ? option.get_name(true) : "--" + option.get_lnames().front(), .help = option.get_description()};
  if (!option.get_positional() && !option.get_snames().empty()) row.brief = "-" + option.get_snames().front();
  if (option.get_expected_max() > 0) row.value = type.substr(0, type.find(':'));
  row.choices = choices_in(type);
  return row;
}

}  // namespace

std::vector<CommandRow> command_table(const CLI::App& program) {
  std::vector<CommandRow> table;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    CommandRow row{.name = command->get_name(), .help = command->get_description(), .footer = command->get_footer()};
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional()) row.arguments.push_back(row_of(*option));
      else if (!option->get_lnames().empty()) row.options.push_back(row_of(*option));
    }
    table.push_back(std::move(row));
  }
  return table;
}

}  // namespace plimsoll
