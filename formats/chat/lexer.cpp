#include "formats/chat/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/chat/value.h"
#include "formats/tokenizers/utf8.h"

namespace plimsoll::chat {
namespace {

constexpr std::string_view kSpaces = " \t\n\r\f\v";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Line ends as "\n", and without the one at the end of the template.
std::string normalized(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text += source[i];
    } else {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : text_(normalized(source)) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) {
      const std::size_t tag = find_tag();
      take_data(tag);
      if (tag == text_.size()) break;
      if (text_[tag + 1] == '#') {
        take_comment();
      } else {
        take_tag();
      }
    }
    add(Lexeme::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw TemplateError(fmt::format("line {}: {}", line_, what)); }

  void add(Lexeme kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  [[nodiscard]] std::string_view rest() const { return std::string_view(text_).substr(at_); }

  void advance(std::size_t count) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(at_ + count), '\n'));
    at_ += count;
  }

  [[nodiscard]] std::size_t find_tag() const {
    for (std::size_t i = text_.find('{', at_); i != std::string::npos; i = text_.find('{', i + 1)) {
      if (i + 1 < text_.size() && (text_[i + 1] == '{' || text_[i + 1] == '%' || text_[i + 1] == '#')) return i;
    }
    return text_.size();
  }

  /// The text before the tag at `end`, less the white space that the tag takes along.
  void take_data(std::size_t end) {
    std::string_view data = rest().substr(0, end - at_);
    if (end < text_.size()) {
      const char mark = end + 2 < text_.size() ? text_[end + 2] : ' ';
      const std::size_t line = data.rfind('\n') == std::string_view::npos ? 0 : data.rfind('\n') + 1;
      const bool from_line_start = line > 0 || line_starts_;
      if (mark == '-') {
        data = data.substr(0, data.find_last_not_of(kSpaces) + 1);
      } else if (mark != '+' && text_[end + 1] != '{' && from_line_start &&
                 data.find_first_not_of(kSpaces, line) == std::string_view::npos) {
        data = data.substr(0, line);
      }
    }
    if (!data.empty()) add(Lexeme::kData, std::string(data));
    advance(end - at_);
  }

  /// Behind a tag: '-' takes all white space, a block or comment the line's end.
  void close(char mark, bool trims) {
    std::size_t count = 0;
    if (mark == '-') {
      count = std::min(rest().find_first_not_of(kSpaces), rest().size());
    } else if (mark != '+' && trims && rest().starts_with('\n')) {
      count = 1;
    }
    line_starts_ = count > 0 && text_[at_ + count - 1] == '\n';
    advance(count);
  }

  void take_comment() {
    const std::size_t end = text_.find("#}", at_ + 2);
    if (end == std::string::npos) refuse("a comment that is never closed");
    const char mark = text_[end - 1];
    advance(end + 2 - at_);
    close(mark, true);
  }

  void take_tag() {
    const bool block = text_[at_ + 1] == '%';
    add(block ? Lexeme::kBlock : Lexeme::kPrint, "");
    advance(2);
    if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) advance(1);
    const std::size_t first = tokens_.size();
    const char mark = take_inside(block ? "%}" : "}}");
    const bool raw = block && tokens_.size() == first + 1 && tokens_[first].text == "raw";
    if (raw) tokens_.resize(first - 1);
    if (!raw) add(block ? Lexeme::kBlockEnd : Lexeme::kPrintEnd, "");
    close(mark, block);
    if (raw) take_raw();
  }

  /// Everything up to {% endraw %} as it stands.
  void take_raw() {
    std::size_t at = at_;
    while (true) {
      at = text_.find("{%", at);
      if (at == std::string::npos) refuse("a raw block that is never closed");
      const std::size_t name = text_.find_first_not_of(" \t\n-+", at + 2);
      if (name != std::string::npos && text_.compare(name, 6, "endraw") == 0) break;
      at += 2;
    }
    take_data(at);
    const std::size_t end = text_.find("%}", at_);
    if (end == std::string::npos) refuse("a tag that is never closed");
    const char mark = text_[end - 1];
    advance(end + 2 - at_);
    close(mark, true);
  }

  /// The tokens of a tag up to its end; answers with the mark before the end.
  char take_inside(std::string_view end) {
    int depth = 0;
    while (true) {
      advance(std::min(rest().find_first_not_of(kSpaces), rest().size()));
      if (at_ >= text_.size()) refuse("a tag that is never closed");
      const char c = text_[at_];
      if (depth == 0 && rest().starts_with(end)) return finish_tag(2, ' ');
      if (depth == 0 && (c == '-' || c == '+') && rest().substr(1).starts_with(end)) return finish_tag(3, c);
      if (is_letter(c)) {
        take_name();
      } else if (is_digit(c)) {
        take_number();
      } else if (c == '"' || c == '\'') {
        take_string();
      } else {
        take_sign(depth);
      }
    }
  }

  char finish_tag(std::size_t length, char mark) {
    advance(length);
    return mark;
  }

  void take_name() {
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    add(Lexeme::kName, text_.substr(at_, end - at_));
    advance(end - at_);
  }

  void take_number() {
    std::size_t end = at_;
    const auto digits = [&] {
      while (end < text_.size() && (is_digit(text_[end]) || text_[end] == '_')) ++end;
    };
    digits();
    bool real = false;
    if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) {
      real = true;
      ++end;
      digits();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      std::size_t power = end + 1;
      if (power < text_.size() && (text_[power] == '-' || text_[power] == '+')) ++power;
      if (power < text_.size() && is_digit(text_[power])) {
        real = true;
        end = power;
        digits();
      }
    }
    std::string number = text_.substr(at_, end - at_);
    std::erase(number, '_');
    add(real ? Lexeme::kReal : Lexeme::kInteger, number);
    advance(end - at_);
  }

  void take_string() {
    const char quote = text_[at_];
    std::string value;
    std::size_t i = at_ + 1;
    for (; i < text_.size() && text_[i] != quote; ++i) {
      if (text_[i] != '\\' || i + 1 >= text_.size()) {
        value += text_[i];
      } else {
        i = take_escape(i + 1, value);
      }
    }
    if (i >= text_.size()) refuse("a string that is never closed");
    add(Lexeme::kString, value);
    advance(i + 1 - at_);
  }

  /// The escape whose letter is at `i`; answers with its last place.
  std::size_t take_escape(std::size_t i, std::string& value) const {
    static constexpr std::string_view kLetters = "ntrfvab0";
    static constexpr std::string_view kMeant{"\n\t\r\f\v\a\b\0", 8};
    const char c = text_[i];
    if (const std::size_t known = kLetters.find(c); known != std::string_view::npos) {
      value += kMeant[known];
    } else if (c == '\\' || c == '\'' || c == '"') {
      value += c;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const std::size_t length = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      const std::string digits = text_.substr(i + 1, length);
      if (digits.size() != length || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
        refuse("an escape without its digits");
      }
      const auto character = static_cast<char32_t>(std::stoul(digits, nullptr, 16));
      if (character > 0x10FFFF || (character >= 0xD800 && character < 0xE000)) refuse("an escape that is no character");
      append_utf8(value, character);
      return i + length;
    } else if (c != '\n') {
      value += {'\\', c};
    }
    return i;
  }

  void take_sign(int& depth) {
    static constexpr std::string_view kPairs[] = {"**", "//", "==", "!=", "<=", ">="};
    const auto pair =
        std::find_if(std::begin(kPairs), std::end(kPairs), [&](std::string_view p) { return rest().starts_with(p); });
    const std::string sign = pair != std::end(kPairs) ? std::string(*pair) : std::string(1, text_[at_]);
    if (sign.size() == 1 && std::string_view("()[]{},.:|~=<>%*/+-").find(sign[0]) == std::string_view::npos) {
      refuse(fmt::format("'{}' means nothing here", sign));
    }
    if (sign == "(" || sign == "[" || sign == "{") ++depth;
    if (sign == ")" || sign == "]" || sign == "}") --depth;
    if (depth < 0) refuse(fmt::format("'{}' closes nothing", sign));
    add(Lexeme::kSign, sign);
    advance(sign.size());
  }

  std::string text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;  ///< nothing of this line stands before the place
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> read_tokens(std::string_view source) { return Lexer(source).run(); }

}  // namespace plimsoll::chat
