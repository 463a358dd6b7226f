#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "formats/text/open_file.h"

namespace plimsoll {

/// What a token file says of itself, at its end: its first bytes are the tokens and nothing else, so that any program that
/// maps an array of integers can read them. Behind the tokens lies a bit for each (the lowest bit of a byte first): one
/// that counts as a target of training; then this note.
struct TokenFileNote {
  std::int64_t width = 2;       ///< bytes of a token: 2 or 4, little-endian
  std::int64_t tokens = 0;
  std::int64_t counted = 0;     ///< tokens that count as targets
  std::int64_t vocabulary = 0;  ///< of the tokenizer
  std::int64_t row = 0;         ///< tokens of a packed row, which is trained on as a whole; 0: one continuous stream
  bool masked = false;          ///< there are bits; otherwise every token counts
  std::string tokenizer;        ///< digest of the tokenizer's file

  [[nodiscard]] Bytes mask_offset() const { return Bytes(width * tokens); }
  [[nodiscard]] Bytes mask_bytes() const { return Bytes(masked ? (tokens + 7) / 8 : 0); }
};

inline constexpr std::size_t kTokenFileNoteBytes = 128;

/// The note at the end of `file`; nothing when the file is an array of tokens without one. Errors: a note that does not
/// fit the file, or of a later version.
Result<std::optional<TokenFileNote>> read_token_file_note(const OpenFile& file, const std::string& where);

/// Writes a token file beside its place and renames it there when it is whole. What was not finished is removed.
class TokenFileWriter {
 public:
  /// Two bytes a token where the vocabulary allows it. Throws EnvironmentError, as all of its verbs do.
  TokenFileWriter(std::filesystem::path path, std::int64_t vocabulary, std::int64_t row, std::string tokenizer);
  TokenFileWriter(const TokenFileWriter&) = delete;
  TokenFileWriter& operator=(const TokenFileWriter&) = delete;
  ~TokenFileWriter();

  /// Appends tokens; `counts` says of each whether it is a target.
  void append(std::span<const std::int32_t> tokens, const std::vector<bool>& counts);
  /// Adds the bits and the note, and takes the place of what was at the path.
  void finish();

  [[nodiscard]] const TokenFileNote& note() const { return note_; }

 private:
  void put(std::int32_t token);
  void put_bit(bool counts);
  void flush();

  std::filesystem::path path_;
  std::filesystem::path beside_;
  OpenFile file_;
  TokenFileNote note_;
  std::vector<std::byte> pending_;
  std::vector<std::byte> bits_;
  bool finished_ = false;
};

}  // namespace plimsoll
