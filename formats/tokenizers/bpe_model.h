#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "formats/tokenizers/pair_table.h"

namespace plimsoll {

/// The number that stands for a token in a model's embedding.
using TokenId = std::int32_t;

/// Lets maps of strings be searched by a view of one.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

template <typename Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

/// Byte-pair encoding (Sennrich et al. 2016) as a tokenizer file's "model" describes it: a piece's characters are joined
/// pair by pair, the earliest learned pair first, the leftmost of several.
class BpeModel {
 public:
  /// Errors name the key: another kind of model, a merge of tokens that are not in the vocabulary, two tokens of one id.
  static Result<BpeModel> read(const nlohmann::json& model, const std::string& where);

  /// Appends the tokens of one piece; a piece of a byte-level vocabulary is written in the byte alphabet.
  void encode(std::string_view piece, std::vector<TokenId>& out) const;

  [[nodiscard]] std::optional<TokenId> id_of(std::string_view token) const;
  [[nodiscard]] const TextMap<TokenId>& vocabulary() const { return ids_; }

  /// True when no token holds `mark` behind anything but `mark`: then no merge reaches across the place before a `mark`
  /// that follows something else, and a text may be cut there.
  [[nodiscard]] bool parts_before(std::string_view mark) const;

 private:
  Result<void> read_vocabulary(const nlohmann::json& model, const std::string& where);
  Result<void> read_merges(const nlohmann::json& model, const std::string& where);
  Result<void> add_merge(const std::string& left, const std::string& right, std::int32_t rank, const std::string& where);
  void append_unknown(std::string_view character, std::vector<TokenId>& symbols, bool& after_unknown) const;
  [[nodiscard]] std::vector<TokenId> symbols_of(std::string_view piece) const;

  TextMap<TokenId> ids_;
  PairTable merges_;
  std::vector<TokenId> of_byte_;  ///< the token <0x00> … <0xFF> of each byte; empty without byte fallback
  std::optional<TokenId> unknown_;
  bool fuse_unknown_ = false;
  bool whole_first_ = false;  ///< "ignore_merges": a piece that is a token is that token
};

}  // namespace plimsoll
