#include "cli/program/completion_scripts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plimsoll {
namespace {

constexpr std::string_view kGpu = "--on";
constexpr std::string_view kModel = "MODEL";

/// In single quotes, as all three shells read it.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::vector<std::string> command_names(const std::vector<CommandRow>& table) {
  std::vector<std::string> names;
  for (const CommandRow& row : table) names.push_back(row.name);
  return names;
}

/// The values that are known of an option or argument, one a line.
std::string values_of(const OptionRow& option, const CompletionNames& names) {
  if (option.name == kGpu) return fmt::format("{}", fmt::join(names.gpus, "\n"));
  if (option.name == kModel) return fmt::format("{}", fmt::join(names.models, "\n"));
  return fmt::format("{}", fmt::join(option.choices, "\n"));
}

bool takes_model(const CommandRow& row) { return !row.arguments.empty() && row.arguments.front().name == kModel; }

std::string bash_case(const CommandRow& row, const CompletionNames& names) {
  std::vector<std::string> options;
  std::string values;
  for (const OptionRow& option : row.options) {
    options.push_back(option.name);
    const std::string known = values_of(option, names);
    if (option.value.empty()) continue;
    const std::string also = option.brief.empty() ? "" : "|" + option.brief;
    values += fmt::format("        {}{}) {} ;;\n", option.name, also,
                          known.empty() ? "_plimsoll_files" : "_plimsoll_values " + quoted(known));
  }
  const std::string first = row.arguments.empty() ? "" : values_of(row.arguments.front(), names);
  std::string rest = first.empty() ? "_plimsoll_files" : "_plimsoll_values " + quoted(first);
  if (takes_model(row)) rest = "_plimsoll_values \"$models\"; [ \"${#COMPREPLY[@]}\" -gt 0 ] || _plimsoll_files";
  return fmt::format(
      "    {})\n      case $previous in\n{}        *)\n          case $current in\n            -*) _plimsoll_values {} ;;\n"
      "            *) {} ;;\n          esac ;;\n      esac ;;\n",
      row.name, values, quoted(fmt::format("{}", fmt::join(options, "\n"))), rest);
}

/// Brackets, colons and quotes mean something to zsh's _arguments.
std::string for_arguments(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    if (c == '\'') out += "'\\'";
    out += c;
  }
  return out;
}

/// Lines as words of one line, each with what means something to a shell escaped.
std::string words_of(const std::string& lines) {
  std::string words;
  for (const char c : lines) {
    if (std::string_view(" ()'\"&:").find(c) != std::string_view::npos) words += '\\';
    words += c == '\n' ? ' ' : c;
  }
  return words;
}

std::string zsh_value(const OptionRow& option, const CompletionNames& names) {
  if (option.value.empty()) return {};
  const std::string known = values_of(option, names);
  if (known.empty()) return ":value:_files";
  const std::string list = words_of(known);
  return fmt::format(":value:({})", list);
}

std::string zsh_case(const CommandRow& row, const CompletionNames& names) {
  std::string text = fmt::format("    {})\n      _arguments -s \\\n", row.name);
  for (const OptionRow& option : row.options) {
    const std::string sign = option.value.empty() ? "" : "=";
    text += fmt::format("        '*{}{}[{}]{}' \\\n", option.name, sign, for_arguments(option.help), zsh_value(option, names));
  }
  std::string rest = takes_model(row) ? "*: :_plimsoll_models" : "*: :_files";
  if (!row.arguments.empty() && !row.arguments.front().choices.empty())
    rest = fmt::format("*: :({})", fmt::join(row.arguments.front().choices, " "));
  return text + fmt::format("        '{}' ;;\n", rest);
}

}  // namespace

std::string bash_completion(const std::vector<CommandRow>& table, const CompletionNames& names) {
  std::string cases;
  for (const CommandRow& row : table) cases += bash_case(row, names);
  return fmt::format(
      R"script(# bash completion for plimsoll; made by: plimsoll completion bash
_plimsoll_values() {{
  local value prefix=${{current//\\/}}
  prefix=${{prefix#[\"\']}}
  while IFS= read -r value; do
    [[ $value == "$prefix"* ]] || continue
    case $current in
      [\"\']*) COMPREPLY+=("$value") ;;
      *) COMPREPLY+=("$(printf %q "$value")") ;;
    esac
  done <<< "$1"
}}

_plimsoll_files() {{
  local file
  compopt -o filenames 2>/dev/null
  while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$current")
}}

_plimsoll() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local models={}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    _plimsoll_values {}
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
}}
complete -F _plimsoll plimsoll
)script",
      quoted(fmt::format("{}", fmt::join(names.models, "\n"))), quoted(fmt::format("{}", fmt::join(command_names(table), "\n"))), cases);
}

std::string zsh_completion(const std::vector<CommandRow>& table, const CompletionNames& names) {
  std::string commands;
  std::string cases;
  for (const CommandRow& row : table) {
    commands += "    " + quoted(row.name + ":" + row.help) + "\n";
    cases += zsh_case(row, names);
  }
  std::string models;
  for (const std::string& model : names.models) models += " " + quoted(model);
  return fmt::format(
      R"script(#compdef plimsoll
# zsh completion for plimsoll; made by: plimsoll completion zsh
_plimsoll_models() {{
  local -a models=({})
  _alternative 'models:model:compadd -a models' 'files:file:_files'
}}

_plimsoll() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}

if [ "$funcstack[1]" = _plimsoll ]; then _plimsoll "$@"; else compdef _plimsoll plimsoll; fi
)script",
      models, commands, cases);
}

std::string fish_completion(const std::vector<CommandRow>& table, const CompletionNames& names) {
  std::string text = "# fish completion for plimsoll; made by: plimsoll completion fish\n";
  for (const CommandRow& row : table)
    text += fmt::format("complete -c plimsoll -n __fish_use_subcommand -f -a {} -d {}\n", row.name, quoted(row.help));
  for (const CommandRow& row : table) {
    const std::string seen = fmt::format("complete -c plimsoll -n '__fish_seen_subcommand_from {}'", row.name);
    if (!row.arguments.empty() && !row.arguments.front().choices.empty())
      text += fmt::format("{} -f -a {}\n", seen, quoted(fmt::format("{}", fmt::join(row.arguments.front().choices, " "))));
    if (takes_model(row)) text += fmt::format("{} -a {}\n", seen, quoted(fmt::format("{}", fmt::join(names.models, " "))));
    for (const OptionRow& option : row.options) {
      text += fmt::format("{} -l {} -d {}", seen, option.name.substr(2), quoted(option.help));
      if (!option.brief.empty()) text += " -s " + option.brief.substr(1);
      if (!option.value.empty()) text += " -r";
      const std::string known = values_of(option, names);
      const std::string words = words_of(known);  // what fish reads inside the quotes is a list of words once more
      if (!known.empty()) text += " -f -a " + quoted(words);
      text += "\n";
    }
  }
  return text;
}

}  // namespace plimsoll
