#include "formats/tokenizers/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

constexpr std::uint32_t kMatchLimit = 2'000'000;  ///< calls of the matcher for one match: far beyond any honest pattern

/// White_Space of the Unicode character database. PCRE2's own \s holds U+180E too, which left that property in 6.3.
constexpr std::string_view kSpaces =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

/// Writes \s (and \S outside of a class) as what Oniguruma takes it for.
std::string to_pcre2(std::string_view pattern) {
  std::string written;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      if (next == 's') {
        written += in_class ? std::string(kSpaces) : fmt::format("[{}]", kSpaces);
      } else if (next == 'S' && !in_class) {
        written += fmt::format("[^{}]", kSpaces);
      } else {
        written += {c, next};
      }
      continue;
    }
    if (in_class && pattern.substr(i, 2) == "[:") {  // [[:alpha:]]
      const std::size_t end = std::min(pattern.find(":]", i), pattern.size() - 1);
      written += pattern.substr(i, end - i);
      i = end;
      written += pattern[i];
      if (i + 1 < pattern.size()) written += pattern[++i];
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    written += c;
  }
  return written;
}

std::string words_of(int error) {
  std::array<PCRE2_UCHAR, 256> words{};
  pcre2_get_error_message(error, words.data(), words.size());
  return reinterpret_cast<const char*>(words.data());
}

struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

std::vector<TextSpan> matches_of_literal(std::string_view text, std::string_view wanted) {
  std::vector<TextSpan> found;
  if (wanted.empty()) return found;
  for (std::size_t at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, at + wanted.size())) {
    found.push_back({at, at + wanted.size()});
  }
  return found;
}

}  // namespace

struct Regex::Code {
  pcre2_code* compiled = nullptr;
  std::string pattern;  ///< as it was written

  Code(pcre2_code* code, std::string_view written) : compiled(code), pattern(written) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(compiled); }
};

Result<Regex> Regex::compile(std::string_view pattern) {
  const std::string written = to_pcre2(pattern);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(written.data()), written.size(),
                                       PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr);
  if (compiled == nullptr) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("the pattern '{}' cannot be used: {} at byte {}", pattern, words_of(error), at),
                 .where = {},
                 .remedy = {}});
  }
  pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);  // without it (no such processor) matching is slower, and the same
  Regex regex;
  regex.code_ = std::make_shared<const Code>(compiled, pattern);
  return regex;
}

Regex Regex::literal(std::string text) {
  Regex regex;
  regex.literal_ = std::move(text);
  return regex;
}

Result<std::vector<TextSpan>> Regex::matches(std::string_view text) const {
  if (code_ == nullptr) return matches_of_literal(text, literal_);
  const std::unique_ptr<pcre2_match_data, FreeMatch> data(pcre2_match_data_create(1, nullptr));
  const std::unique_ptr<pcre2_match_context, FreeContext> context(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context.get(), kMatchLimit);
  std::vector<TextSpan> found;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto match = [&](std::uint32_t options) {
      return pcre2_match(code_->compiled, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                         PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY | options, data.get(), context.get());
    };
    int count = match(0);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT) count = match(PCRE2_NO_JIT);
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) {
      return fail({.kind = ErrorKind::kInput,
                   .what = fmt::format("the pattern '{}' cannot be matched: {}", code_->pattern, words_of(count)),
                   .where = {},
                   .remedy = {}});
    }
    const PCRE2_SIZE* place = pcre2_get_ovector_pointer(data.get());
    found.push_back({place[0], place[1]});
    at = place[1];
  }
  return found;
}

}  // namespace plimsoll
