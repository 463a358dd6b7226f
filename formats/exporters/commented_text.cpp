#include "formats/exporters/commented_text.h"

#include <fmt/format.h>

#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

/// A name from outside must not end the comment that it stands in.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

}  // namespace

std::string heading(const ExportedTraining& training, std::string_view target, const std::vector<std::string>& notes) {
  std::string text = fmt::format("# plimsoll export --to {}\n# of: {}\n", target, one_line(training.origin));
  for (const std::string& line : training.foretold) text += fmt::format("# foretold: {}\n", one_line(line));
  for (const std::string& note : notes) text += fmt::format("# note: {}\n", one_line(note));
  return text + "\n";
}

KeyedLines& KeyedLines::text(std::string_view key, std::string_view value) { return raw(key, json_quote(value)); }

KeyedLines& KeyedLines::number(std::string_view key, double value) {
  std::string text = json_number(value);
  const std::size_t exponent = text.find_first_of("eE");
  if (text.find('.') == std::string::npos) text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
  return raw(key, text);
}

KeyedLines& KeyedLines::add(std::string_view line) {
  lines_ += std::string(line.empty() ? 0 : indent_, ' ');
  lines_ += line;
  lines_ += '\n';
  return *this;
}

}  // namespace plimsoll
