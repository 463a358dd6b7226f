#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "formats/tokenizers/bpe_model.h"

namespace plimsoll {

/// The tokens of words met before. Forgets everything when it is full: texts move on to other words.
class WordCache {
 public:
  /// The tokens of `word`; nothing when it is not known. Valid until the next `insert`.
  [[nodiscard]] std::optional<std::span<const TokenId>> find(std::string_view word) const {
    const auto found = places_.find(word);
    if (found == places_.end()) return std::nullopt;
    return std::span(tokens_).subspan(found->second.begin, found->second.count);
  }

  /// Takes the tokens of a word that is not too long to come again.
  void insert(std::string_view word, std::span<const TokenId> tokens) {
    if (word.size() > kLongestWord) return;
    if (places_.size() >= kMostWords) {
      places_.clear();
      tokens_.clear();
    }
    places_.emplace(std::string(word), Place{tokens_.size(), tokens.size()});
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  }

 private:
  static constexpr std::size_t kMostWords = std::size_t{1} << 16;
  static constexpr std::size_t kLongestWord = 64;

  struct Place {
    std::size_t begin = 0;
    std::size_t count = 0;
  };

  TextMap<Place> places_;
  std::vector<TokenId> tokens_;
};

}  // namespace plimsoll
