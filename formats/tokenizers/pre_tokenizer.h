#pragma once

#include <string>
#include <variant>
#include <vector>

#include "formats/tokenizers/normalizer.h"

namespace plimsoll {

/// A text and the pieces of it within which tokens are looked for. Pieces do not overlap and are not empty.
struct Pieces {
  std::string text;
  std::vector<TextSpan> spans;
};

/// What becomes of the matches of a pattern.
enum class SplitRule { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Cuts pieces at the matches of a pattern.
struct SplitStep {
  Regex pattern;
  SplitRule rule = SplitRule::kIsolated;
  bool invert = false;  ///< what lies between the matches counts as match
};

/// Puts a space before each piece that has none.
struct PrefixSpace {};

/// Writes '▁' (or whatever stands for it) for spaces and perhaps puts one before the text.
struct Metaspace {
  enum class Prepend { kAlways, kFirst, kNever };

  std::string mark;
  Prepend prepend = Prepend::kAlways;
};

/// Cuts a text into the pieces that the model turns into tokens one by one: the steps of "pre_tokenizer".
class PreTokenizer {
 public:
  using Step = std::variant<SplitStep, PrefixSpace, Metaspace>;

  /// Reads "pre_tokenizer"; notes a kind that is not known, and a ByteLevel that is not the last step.
  static PreTokenizer read(const JsonNode& node);

  /// `at_start`: nothing stands before this text.
  [[nodiscard]] Result<Pieces> apply(std::string text, bool at_start) const;
  /// True when the model's vocabulary is written in the byte alphabet (see byte_alphabet.h).
  [[nodiscard]] bool byte_level() const { return byte_level_; }
  [[nodiscard]] bool empty() const { return steps_.empty(); }

 private:
  void add(const JsonNode& node);
  void add_byte_level(const JsonNode& node);
  void add_metaspace(const JsonNode& node);
  void add_split(const JsonNode& node);
  void add_pattern(std::string_view pattern, SplitRule rule, bool invert = false);

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace plimsoll
