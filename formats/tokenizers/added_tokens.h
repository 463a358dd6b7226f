#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/text/json_node.h"
#include "formats/tokenizers/bpe_model.h"
#include "formats/tokenizers/regex.h"

namespace plimsoll {

/// A token that is found in the text itself, before words are looked for.
struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool single_word = false;  ///< only where no letter, digit or underscore touches it
  bool strip_left = false;   ///< takes the white space before it along
  bool strip_right = false;
  bool normalized = true;  ///< looked for after normalizing
  bool special = false;    ///< not shown when tokens are turned back into text
};

/// A stretch of a text that is an added token, or (id absent) that lies between such.
struct TextPart {
  TextSpan span;
  std::optional<TokenId> id;
};

/// Finds added tokens: the leftmost, of several at one place the longest.
class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens);

  /// Cuts `text` at the tokens; parts are not empty.
  [[nodiscard]] std::vector<TextPart> split(std::string_view text) const;

 private:
  struct Node {
    std::vector<std::pair<char, std::int32_t>> next;  ///< byte and node, few of them
    std::int32_t token = -1;                          ///< that ends here
  };

  [[nodiscard]] std::int32_t child_of(std::int32_t node, char byte) const;
  void insert(std::int32_t token);
  [[nodiscard]] std::int32_t longest_at(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> trie_{1};
};

/// Reads "added_tokens".
std::vector<AddedToken> read_added_tokens(const JsonNode& root);

}  // namespace plimsoll
