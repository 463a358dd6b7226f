#include "cli/program/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/options/foreign_options.h"
#include "core/base/nearest_names.h"

namespace plimsoll {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// The command of the line; nothing where none is called.
const CLI::App* called_command(const CLI::App& app, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    for (const CLI::App* command : commands_of(app)) {
      if (command->get_name() == word) return command;
    }
  }
  return nullptr;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The nearest names as a remedy's first half, where one of them may be what was meant.
std::string nearest_words(const std::string& wanted, const std::vector<std::string>& names) {
  const auto near = near_names(wanted, names);
  return near.empty() ? "" : fmt::format("did you mean {}? ", fmt::join(near, ", "));
}

Error without_command(const CLI::App& app, const std::vector<std::string>& words) {
  const auto named =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return !word.starts_with('-'); });
  Error error{.kind = ErrorKind::kInput,
              .what = "no command is named",
              .where = {},
              .remedy = "plimsoll --help lists the commands"};
  if (named == words.end()) return error;
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  error.what = fmt::format("no command is called '{}'", *named);
  error.remedy = nearest_words(*named, names) + error.remedy;
  return error;
}

/// Of the words behind "The following arguments were not expected: ", in which order ever, the first option that was
/// typed, else the first word.
std::string first_unexpected(const std::string& what, const std::vector<std::string>& typed) {
  const std::string list = " " + what.substr(std::min(what.size(), what.find(": ") + 2)) + " ";
  const auto is_listed = [&](const std::string& word) { return list.find(" " + word + " ") != std::string::npos; };
  const auto option = std::find_if(typed.begin(), typed.end(), [&](const std::string& word) {
    return word.starts_with('-') && is_listed(word);
  });
  const auto word = option != typed.end() ? option : std::find_if(typed.begin(), typed.end(), is_listed);
  return word == typed.end() ? list.substr(1, list.size() - 2) : word->substr(0, word->find('='));
}

/// What other programs' options are here, where the command has it, else the nearest names.
std::string meant_option(const std::string& wanted, const CLI::App& command) {
  const std::string_view own = as_own_option(wanted);
  const std::vector<std::string> names = option_names(command);
  const auto end = std::min(own.size(), own.find(' '));
  if (own.empty() || std::ranges::find(names, own.substr(0, end)) == names.end()) return nearest_words(wanted, names);
  return fmt::format("that is {} here. ", own);
}

/// The option of `command` that came without its value, as CLI11 tells of it ("--lora: 1 required TEXT missing"); none for other errors.
const CLI::Option* without_value(const CLI::App& command, const CLI::ParseError& error) {
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ArgumentMismatch)) return nullptr;
  const std::string what = error.what();
  if (!what.ends_with(" missing")) return nullptr;
  return command.get_option_no_throw(what.substr(0, what.find(':')));
}

/// "Could not convert: --batch = 4.5" and "--ram: At Most 1 required but received 2" in words; nothing for other errors.
std::optional<std::string> about_values(const CLI::App& command, const CLI::ParseError& error) {
  constexpr std::string_view kConvert = "Could not convert: ", kIs = " = ", kMany = ": At Most 1 required";
  const std::string what = error.what();
  if (const auto word = what.find(": Value "), range = what.find(" not in range "); word != std::string::npos && range != std::string::npos) {
    const std::string value = what.substr(word + 8, range - word - 8);
    if (value.find_first_of("0123456789") == std::string::npos) return fmt::format("{}: '{}' is no number", what.substr(0, word), value);
  }
  if (const auto many = what.find(kMany); many != std::string::npos) return what.substr(0, many) + " was given more than once";
  const auto is = what.find(kIs);
  if (!what.starts_with(kConvert) || is == std::string::npos) return std::nullopt;
  const std::string name = what.substr(kConvert.size(), is - kConvert.size());
  const CLI::Option* option = command.get_option_no_throw(name);
  const bool whole = option != nullptr && option->get_type_name().find("INT") != std::string::npos;
  return fmt::format("{}: '{}' is no {}number", name, what.substr(is + kIs.size()), whole ? "whole " : "");
}

}  // namespace

Error usage_error(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  const CLI::App* command = called_command(app, words);
  if (command == nullptr) return without_command(app, words);
  const std::string name = "plimsoll " + command->get_name();
  Error told{
      .kind = ErrorKind::kInput, .what = error.what(), .where = name, .remedy = name + " --help lists its options"};
  if (const CLI::Option* bare = without_value(*command, error)) {
    told.what = fmt::format("{} came without its value", bare->get_name());
    told.remedy = fmt::format("it says: {}. {}", bare->get_description(), told.remedy);
    return told;
  }
  if (const auto values = about_values(*command, error)) told.what = *values;
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return told;
  const std::string word = first_unexpected(told.what, words);
  if (word.starts_with('-')) {
    told.what = fmt::format("{} is none of its options", word);
    told.remedy = meant_option(word, *command) + told.remedy;
  } else {
    told.what = fmt::format("'{}' is one argument too many", word);
    told.remedy = fmt::format("put a name of several words in quotes; {} --help tells what it takes", name);
  }
  return told;
}

}  // namespace plimsoll
