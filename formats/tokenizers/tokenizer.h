#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "formats/tokenizers/bpe_model.h"
#include "formats/tokenizers/post_processor.h"

namespace plimsoll {

class WordCache;

/// What `encode` does besides cutting text into tokens.
struct EncodeOptions {
  bool frame = true;  ///< put the special tokens around the text that the file asks for (<s> … of Llama)
  bool find_special = true;  ///< a special token written in the text is that token; otherwise it is text like any other
};

/// Text to tokens and back as a Hugging Face tokenizer.json describes it (byte-level BPE and SentencePiece-style BPE).
/// A copy is cheap: it shares the tables and begins a word cache of its own. One copy serves one thread at a time.
class Tokenizer {
 public:
  /// Reads a tokenizer.json, or that of a folder. Errors name the key: a kind that is not known, a broken table.
  static Result<Tokenizer> load(const std::filesystem::path& path);
  /// The same from the file's text; `where` names it in errors.
  static Result<Tokenizer> parse(std::string_view text, const std::string& where);
  Tokenizer(const Tokenizer& other);
  Tokenizer(Tokenizer&& other) noexcept;
  Tokenizer& operator=(const Tokenizer&) = delete;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// The tokens of `text`. Errors: text that is not UTF-8 (its byte is named); a pattern of the file that backtracks
  /// without bound.
  [[nodiscard]] Result<std::vector<TokenId>> encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// The text of `tokens`. Special tokens are left out unless `keep_special`; numbers that are no tokens as well.
  [[nodiscard]] std::string decode(std::span<const TokenId> tokens, bool keep_special = false) const;

  /// One more than the largest id.
  [[nodiscard]] std::int64_t vocabulary() const;
  [[nodiscard]] std::optional<TokenId> id_of(std::string_view token) const;
  /// The token as the vocabulary writes it; empty for a number that is none.
  [[nodiscard]] std::string_view token_of(TokenId id) const;
  [[nodiscard]] bool is_special(TokenId id) const;
  /// What `encode` puts around a text.
  [[nodiscard]] const PostProcessor& frame() const;
  /// Fingerprint of the file: token files carry it.
  [[nodiscard]] const std::string& digest() const;

 private:
  struct Tables;
  explicit Tokenizer(std::shared_ptr<const Tables> tables);
  Result<void> encode_text(std::string text, bool at_start, std::vector<TokenId>& out) const;
  Result<void> encode_part(std::string_view part, bool at_start, bool find_special, std::vector<TokenId>& out) const;
  void encode_piece(std::string_view piece, std::vector<TokenId>& out) const;

  std::shared_ptr<const Tables> tables_;
  std::unique_ptr<WordCache> cache_;
};

}  // namespace plimsoll
