#include "cli/inputs/training_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "formats/machines/counted_gpus.h"
#include "formats/trainers/read_training_files.h"

namespace plimsoll {
namespace {

/// A line's words by what they are.
struct TypedLine {
  const CLI::App* command = nullptr;
  std::vector<std::string> kept;   ///< all words but the training files
  std::size_t begin = 0;           ///< of the command's own words among them
  std::vector<std::string> files;
  std::set<const CLI::Option*> options;
  std::map<std::string, std::string> values;  ///< by the option as it was typed
  int subjects = 0;                           ///< words that are neither options nor their values
};

const CLI::App* command_called(const CLI::App& app, const std::string& name) {
  const auto commands = app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return commands.empty() ? nullptr : commands.front();
}

/// Takes the option at words[i]; the place of its last word.
std::size_t take_option(TypedLine& line, const std::vector<std::string>& words, std::size_t i) {
  const std::string name = words[i].substr(0, words[i].find('='));
  const CLI::Option* option = line.command->get_option_no_throw(name);
  line.kept.push_back(words[i]);
  if (option == nullptr) return i;
  line.options.insert(option);
  const bool apart = name == words[i] && option->get_items_expected_max() > 0 && i + 1 < words.size();
  if (apart) line.kept.push_back(words[++i]);
  line.values[name] = apart ? words[i] : words[i].substr(std::min(words[i].size(), name.size() + 1));
  return i;
}

TypedLine split(const CLI::App& app, const std::vector<std::string>& words) {
  TypedLine line;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (line.command == nullptr) {
      line.command = command_called(app, word);
      line.kept.push_back(word);
      line.begin = line.kept.size();
    } else if (word.starts_with('-') && word != "--") {
      i = take_option(line, words, i);
    } else if (names_training_file(word)) {
      line.files.push_back(word);
    } else {
      line.subjects += word != "--";
      line.kept.push_back(word);
    }
  }
  return line;
}

std::string value_of(const TypedLine& line, const std::string& option) {
  const auto found = line.values.find(option);
  return found == line.values.end() ? std::string() : found->second;
}

/// Whether the line asks for a plan of ours, not for what the file's program does.
bool wants_own_plan(const TypedLine& line) {
  if (line.command->get_option_no_throw("--stack") == nullptr) return true;
  const std::string stack = value_of(line, "--stack");
  return stack.empty() ? line.values.contains("--strategy") : stack == "plimsoll";
}

/// Options that plans of ours refuse: those of the group that says how another program trains, and adapters' that have no kernels.
bool is_of_another_stack(const CLI::Option& option) {
  constexpr std::string_view kAdapters[] = {"--lora-dropout", "--dora", "--double-quant"};
  return option.get_group() == "Software" || std::ranges::find(kAdapters, option.get_name()) != std::end(kAdapters);
}

/// Whether what was typed stands in the option's place: itself, one that does not go with it, or --what it is that grows.
bool is_typed(const TypedLine& line, const CLI::Option& option) {
  const std::string name = option.get_name(), grows = value_of(line, "--what");
  if (name == "--gpus" && count_and_name(value_of(line, "--on")).second > 1) return true;
  if ((name == "--seq" && grows == "sequence") || (name == "--batch" && grows == "batch")) return true;
  const auto given = [&](const CLI::Option* one) { return line.options.contains(one); };
  return given(&option) || std::ranges::any_of(option.get_excludes(), given);
}

/// What the file says as one would type it, but for what was typed; `left_out` has what cannot be said here.
std::vector<std::pair<std::string, std::string>> options_said(const TypedLine& line, const TrainingFile& file, std::vector<std::string>& left_out) {
  const bool own = wants_own_plan(line);
  std::vector<std::pair<std::string, std::string>> said;
  for (const auto& [name, value] : file.options) {
    const CLI::Option* option = line.command->get_option_no_throw(name);
    if (option != nullptr && is_typed(line, *option)) continue;
    const bool foreign = option == nullptr || (own && (is_of_another_stack(*option) || name == "--strategy"));
    if (foreign) left_out.push_back(name);
    else said.emplace_back(name, value);
  }
  return said;
}

/// The line with the model behind the command's name and the options behind all others: one with many values takes no subject for its own then.
std::vector<std::string> put_together(const TypedLine& line, const std::string& model, const std::vector<std::pair<std::string, std::string>>& said) {
  std::vector<std::string> words = line.kept;
  std::vector<std::string> options;
  for (const auto& [name, value] : said) options.push_back(value.empty() ? name : name + "=" + value);
  words.insert(std::ranges::find(words, "--"), options.begin(), options.end());
  if (line.subjects == 0 && !model.empty()) words.insert(words.begin() + static_cast<std::ptrdiff_t>(line.begin), model);
  return words;
}

std::string told(const TypedLine& line, const TrainingFile& file, const std::vector<std::pair<std::string, std::string>>& said,
                 const std::vector<std::string>& left_out) {
  std::string text = fmt::format("{} ({}) says:", fmt::join(line.files, ", "), file.program);
  if (line.subjects == 0 && !file.model.empty()) text += " " + file.model;
  for (const auto& [name, value] : said) text += " " + name + (value.empty() ? "" : " " + value);
  text += "\n";
  if (!left_out.empty()) text += fmt::format("  left out, for only other programs have it: {}\n", fmt::join(left_out, " "));
  if (!file.unread.empty()) text += fmt::format("  not read: {}\n", fmt::join(file.unread, ", "));
  for (const std::string& note : file.notes) text += fmt::format("  {}\n", note);
  return text;
}

}  // namespace

Result<ExpandedLine> with_training_files(const CLI::App& app, std::vector<std::string> words) {
  const TypedLine line = split(app, words);
  if (line.files.empty() || line.command->get_option_no_throw("--batch") == nullptr) return ExpandedLine{.words = std::move(words), .said = {}};
  const auto file = read_training_files(line.files);
  if (!file) return fail(file.error());
  std::vector<std::string> left_out;
  const auto said = options_said(line, *file, left_out);
  return ExpandedLine{.words = put_together(line, file->model, said), .said = told(line, *file, said, left_out)};
}

}  // namespace plimsoll
