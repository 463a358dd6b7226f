#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/traces/byte_source.h"

namespace plimsoll {

enum class JsonToken : std::uint8_t { kObject, kObjectEnd, kArray, kArrayEnd, kText, kNumber, kTrue, kFalse, kNull, kEnd };

/// JSON one token after another, with a window of the file in memory. Traces are written by many hands, so it takes
/// what they get wrong: NaN and infinities, commas before a closing bracket, and control characters in texts.
/// Everything else throws an EnvironmentError of kind kInput that names the byte; of a value that is passed over,
/// brackets, texts and letters are looked at.
class JsonStream {
 public:
  explicit JsonStream(ByteSource source);

  /// The next value, or the end of the object or array that is open; between two it passes over a comma. kEnd at the end of the
  /// file, which the caller judges.
  JsonToken next();
  /// Within an object: true and the key, or false at its end. The key stands until the next call.
  bool next_key(std::string_view& key);
  /// Passes over the value that comes next.
  void skip();
  /// Passes over the rest of a value whose first token was just read.
  void skip_rest(JsonToken first);

  /// The text, number or word (true, null, NaN, Infinity) just read, unescaped; it stands until the next call.
  [[nodiscard]] std::string_view text() const { return text_; }
  /// Where the last token began.
  [[nodiscard]] std::int64_t offset() const { return token_at_; }
  /// True when nothing but white space is left.
  bool at_end();
  [[noreturn]] void refuse(std::string what) const;

 private:
  static constexpr std::size_t kDeepest = 128;

  bool fill();
  char peek();
  char peek_behind_comma();
  void mark() { token_at_ = window_at_ + (at_ - buffer_.data()); }
  JsonToken read_token(char letter);
  JsonToken read_other(char letter);
  void read_text();
  void read_escaped();
  void read_number();
  void read_word(std::string_view word);
  void pass_text();
  void append_escape();
  std::uint32_t read_hex();
  char need();
  void enter(bool object);
  void leave(bool object);

  ByteSource source_;
  std::vector<char> buffer_;  ///< with zeros behind what was read
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  const char* keep_ = nullptr;   ///< from here on the window must not lose bytes
  std::int64_t window_at_ = 0;   ///< where the buffer begins in the file
  std::int64_t token_at_ = 0;
  std::string_view text_;
  std::string escaped_;
  std::bitset<kDeepest> is_object_;  ///< of what is open around the next token, else it is an array
  std::size_t depth_ = 0;
  bool ended_ = false;
};

}  // namespace plimsoll
