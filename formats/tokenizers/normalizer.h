#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/text/json_node.h"
#include "formats/tokenizers/regex.h"

namespace plimsoll {

/// A Unicode normalization form.
enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

/// Puts a text before what is not empty.
struct PrependText {
  std::string text;
};

/// Writes `content` for every match.
struct ReplaceText {
  Regex pattern;
  std::string content;
};

/// Cuts white space off the ends.
struct StripText {
  bool left = false;
  bool right = false;
};

/// What a tokenizer does to a text before it looks for words: the steps of its "normalizer", one after another.
class Normalizer {
 public:
  using Step = std::variant<UnicodeForm, PrependText, ReplaceText, StripText>;

  /// Reads "normalizer"; notes a kind that is not known.
  static Normalizer read(const JsonNode& node);

  [[nodiscard]] Result<std::string> apply(std::string text) const;
  [[nodiscard]] bool empty() const { return steps_.empty(); }

 private:
  void add(const JsonNode& node);

  std::vector<Step> steps_;
};

/// Reads {"String": "…"} or {"Regex": "…"}; notes a pattern that cannot be used.
Regex read_pattern(const JsonNode& node);

/// `text` with every match of `pattern` written as `content`.
Result<std::string> replace_all(std::string text, const Regex& pattern, std::string_view content);

}  // namespace plimsoll
