#include "formats/published/spelling.h"

#include <cctype>
#include <charconv>

namespace plimsoll {
namespace {

constexpr std::string_view kNumber = "{}";

bool same(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes all digits that stand next; a number is never cut in two.
std::optional<std::int64_t> take_number(std::string_view text, std::size_t& at) {
  if (at > 0 && is_digit(text[at - 1])) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  if (problem != std::errc{} || number < 0 || at >= text.size() || !is_digit(text[at])) return std::nullopt;
  at = static_cast<std::size_t>(end - text.data());
  return number;
}

/// A spelling without stars, at one place of the text; `at` moves behind it.
bool take_piece(std::string_view piece, std::string_view text, std::size_t& at, SpellingMatch& match) {
  std::size_t here = at;
  while (!piece.empty()) {
    if (piece.starts_with(kNumber)) {
      const auto number = take_number(text, here);
      if (!number) return false;
      match.number = number;
      piece.remove_prefix(kNumber.size());
      continue;
    }
    if (here >= text.size() || !same(piece.front(), text[here])) return false;
    ++here;
    piece.remove_prefix(1);
  }
  at = here;
  return true;
}

std::optional<SpellingMatch> match_one(std::string_view spelling, std::string_view text) {
  SpellingMatch match;
  std::size_t at = 0;
  bool floating = false;  // behind a star
  while (true) {
    const std::string_view piece = spelling.substr(0, spelling.find('*'));
    const bool last = piece.size() == spelling.size();
    std::size_t here = at;
    while (!(take_piece(piece, text, here, match) && (!last || here == text.size()))) {
      if (!floating || at >= text.size()) return std::nullopt;
      here = ++at;
    }
    at = here;
    if (last) return match;
    spelling.remove_prefix(piece.size() + 1);
    floating = true;
  }
}

}  // namespace

std::optional<SpellingMatch> match_spelling(std::string_view spelling, std::string_view text) {
  while (true) {
    const std::string_view one = spelling.substr(0, spelling.find('|'));
    if (auto match = match_one(one, text)) return match;
    if (one.size() == spelling.size()) return std::nullopt;
    spelling.remove_prefix(one.size() + 1);
  }
}

}  // namespace plimsoll
