#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// Half-open range of bytes within a text.
struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] std::size_t size() const { return end - begin; }
  [[nodiscard]] std::string_view of(std::string_view text) const { return text.substr(begin, size()); }
  friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

/// A regular expression over UTF-8 with Unicode classes, as tokenizer files write them (Oniguruma's syntax, carried out by
/// PCRE2). A copy shares the compiled code; any number of threads may match at once.
class Regex {
 public:
  /// Errors: a pattern that cannot be compiled, with PCRE2's words and the place.
  static Result<Regex> compile(std::string_view pattern);
  /// A pattern that matches `text` and nothing else.
  static Regex literal(std::string text);

  /// All matches that are not empty, from left to right, without overlap. `text` is well-formed UTF-8. An error when
  /// the pattern backtracks without bound.
  [[nodiscard]] Result<std::vector<TextSpan>> matches(std::string_view text) const;

 private:
  struct Code;
  Regex() = default;

  std::string literal_;               ///< when there is no code
  std::shared_ptr<const Code> code_;  ///< compiled; immutable
};

}  // namespace plimsoll
