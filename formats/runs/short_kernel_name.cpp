#include "formats/runs/short_kernel_name.h"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool opens(char letter) { return letter == '<' || letter == '('; }
bool closes(char letter) { return letter == '>' || letter == ')'; }

/// Where the bracket that opens at `from` closes; the length of the text when it does not.
std::size_t closing(std::string_view text, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    depth += opens(text[i]) ? 1 : closes(text[i]) ? -1 : 0;
    if (depth == 0) return i;
  }
  return text.size();
}

}  // namespace

std::string short_kernel_name(std::string_view demangled) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < demangled.size(); ++i) {
    if (demangled.compare(i, kAnonymous.size(), kAnonymous) == 0) {
      i += kAnonymous.size() - 1;
    } else if (opens(demangled[i])) {
      const std::size_t close = closing(demangled, i);
      const bool scope = demangled[i] == '<' && demangled.compare(std::min(close + 1, demangled.size()), 2, "::") == 0;
      if (!scope) return std::string(i > begin ? demangled.substr(begin, i - begin) : demangled);
      i = close;  // a template that the name stands in
    } else if (demangled[i] == ':' || demangled[i] == ' ') {
      begin = i + 1;  // behind a scope, or the result's type
    }
  }
  return std::string(begin < demangled.size() ? demangled.substr(begin) : demangled);
}

}  // namespace plimsoll
