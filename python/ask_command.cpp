#include "python/ask_command.h"

#include <algorithm>

#include "cli/inputs/training_files.h"
#include "cli/program/answer_error.h"
#include "cli/program/answered.h"
#include "cli/program/usage_error.h"

namespace plimsoll {
namespace {

using Declare = AskableCommand (*)(CLI::App&);

constexpr std::pair<const char*, Declare> kCommands[] = {{"fit", declare_fit},
                                                         {"plan", declare_plan},
                                                         {"simulate", declare_simulate},
                                                         {"replay", declare_replay},
                                                         {"compare", declare_compare}};

Declare find_command(const std::string& name) {
  const auto found = std::find_if(std::begin(kCommands), std::end(kCommands), [&](const auto& entry) { return entry.first == name; });
  return found == std::end(kCommands) ? nullptr : found->second;
}

std::string with(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

/// What a keyword is on the command line: a list is one word where the option knows a delimiter, else one word a value.
void add_words(const CLI::App& command, const Keyword& keyword, std::vector<std::string>& words) {
  const std::string name = "--" + with(keyword.first, '_', '-');
  const CLI::Option* option = command.get_option_no_throw(name);
  const char delimiter = option == nullptr ? '\0' : option->get_delimiter();
  if (keyword.second.empty()) words.push_back(name);
  std::string joined;
  for (const std::string& value : keyword.second) {
    if (delimiter == '\0') words.push_back(name + "=" + value);
    else joined += (joined.empty() ? "" : std::string(1, delimiter)) + value;
  }
  if (!joined.empty()) words.push_back(name + "=" + joined);
}

AskedCommand ended_with(Error error) {
  AskedCommand asked;
  asked.exit_code = static_cast<int>(exit_code_of(error.kind));
  asked.error = std::move(error);
  return asked;
}

AskedCommand answer(CLI::App& app, const AskableCommand& declared, const std::vector<std::string>& words) {
  try {
    const auto line = with_training_files(app, words);
    if (!line) return ended_with(line.error());
    app.parse(std::vector<std::string>(line->words.rbegin(), line->words.rend()));  // as CLI11 takes them
    const auto answered = declared.ask();
    if (!answered) return ended_with(answered.error());
    return {.json = answered->text, .said = line->said + answered->said, .exit_code = static_cast<int>(answered->code), .error = {}};
  } catch (const CLI::ParseError& error) {
    return ended_with(usage_error(app, error, words));
  } catch (const EnvironmentError& error) {
    return ended_with(error.error());
  }
}

}  // namespace

AskedCommand ask_command(const std::string& name, const std::vector<std::string>& subjects, const std::vector<Keyword>& keywords) {
  const Declare declare = find_command(name);
  if (declare == nullptr) {
    return ended_with({.kind = ErrorKind::kUnknownName, .what = "no command is called '" + name + "'", .where = {}, .remedy = {}});
  }
  CLI::App app;
  const AskableCommand declared = declare(app);
  std::vector<std::string> words{name, "--json"};
  for (const Keyword& keyword : keywords) add_words(*declared.command, keyword, words);
  const bool dashed = std::any_of(subjects.begin(), subjects.end(), [](const std::string& subject) { return subject.starts_with('-'); });
  if (dashed) words.emplace_back("--");  // what follows is no option
  words.insert(words.end(), subjects.begin(), subjects.end());
  return answer(app, declared, words);
}

std::string kind_of(const AskedCommand& asked) {
  if (!asked.error) return {};
  return std::string(to_text(asked.error->kind));
}

std::vector<CommandOption> command_options(const std::string& name) {
  const Declare declare = find_command(name);
  if (declare == nullptr) return {};
  CLI::App app;
  const AskableCommand declared = declare(app);
  std::vector<CommandOption> options;
  for (const CLI::Option* option : declared.command->get_options()) {
    if (option->get_lnames().empty()) continue;
    const bool flag = option->get_expected_max() == 0;
    for (const std::string& word : option->get_lnames()) {  // of a flag, its denial too
      if (word == "json" || word == "help") continue;
      options.push_back({.name = with(word, '-', '_'), .flag = flag, .many = option->get_expected_max() > 1,
                         .help = option->get_description()});
      if (!flag) break;
    }
  }
  return options;
}

}  // namespace plimsoll
