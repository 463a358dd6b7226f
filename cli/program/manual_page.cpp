#include "cli/program/manual_page.h"

#include <fmt/format.h>

#include "cli/commands.h"

namespace plimsoll {
namespace {

/// Text as roff prints it: dashes that can be copied, no line that begins with a request.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool at_start = out.empty() || out.back() == '\n';
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
  }
  return out;
}

std::string option_text(const OptionRow& option) {
  std::string head = "\\fB" + roff(option.name) + "\\fR";
  if (!option.brief.empty()) head = "\\fB" + roff(option.brief) + "\\fR, " + head;
  if (!option.value.empty() && option.name.front() == '-') head += " \\fI" + roff(option.value) + "\\fR";
  std::string choices;
  for (const std::string& choice : option.choices) choices += (choices.empty() ? " (" : ", ") + roff(choice);
  return fmt::format(".TP\n{}\n{}{}\n", head, roff(option.help), choices.empty() ? "" : choices + ")");
}

std::string command_text(const CommandRow& row) {
  std::string text = fmt::format(".SS plimsoll {}", roff(row.name));
  for (const OptionRow& argument : row.arguments) text += " " + roff(argument.name);
  const bool asks = row.help.ends_with('?');
  text += "\n" + roff(row.help) + (asks ? "\n" : ".\n");
  for (const OptionRow& argument : row.arguments) text += option_text(argument);
  for (const OptionRow& option : row.options) text += option_text(option);
  if (!row.footer.empty()) text += ".PP\n.nf\n" + roff(row.footer) + "\n.fi\n";
  return text;
}

}  // namespace

std::string manual_page(const CLI::App& program, const std::vector<CommandRow>& table) {
  std::string text = fmt::format(".TH PLIMSOLL 1 \"\" \"plimsoll {}\" \"User Commands\"\n", version());
  text += ".SH NAME\nplimsoll \\- will this training fit, how fast, what limits it \\- and then run that very plan\n";
  text += ".SH SYNOPSIS\n.B plimsoll\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n" + roff(program.get_description()) + ".\n.SH COMMANDS\n";
  for (const CommandRow& row : table) text += command_text(row);
  return text + ".SH NOTES\n.nf\n" + roff(program.get_footer()) + "\n.fi\n";
}

}  // namespace plimsoll
