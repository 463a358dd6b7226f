#include "formats/traces/json_stream.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

namespace plimsoll {
namespace {

constexpr std::size_t kWindow = std::size_t{1} << 20;
constexpr std::size_t kLongestText = std::size_t{16} << 20;
constexpr std::size_t kPadding = 8;  ///< zeros behind the window: texts are searched eight bytes at a time

/// What a letter may be part of. kBetween: of anything but a text or a bracket.
enum Class : std::uint8_t { kWhite = 1, kNumeric = 2, kBetween = 4 };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  const auto add = [&](std::string_view letters, std::uint8_t more) {
    for (const char letter : letters) classes[static_cast<unsigned char>(letter)] |= more;
  };
  add(" \t\r\n", kWhite | kBetween);
  add("+-.0123456789eE", kNumeric | kBetween);
  add(",:afilnrstuyINT", kBetween);  // of true, false, null, NaN, Infinity, inf
  return classes;
}
constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

bool is(char letter, Class what) { return (kClasses[static_cast<unsigned char>(letter)] & what) != 0; }

/// The first '"', '\\' or 0 from here on. The lowest byte that the trick with the carry finds is a true one.
const char* end_of_text(const char* at) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const auto zeros = [](std::uint64_t word) { return (word - kOnes) & ~word & (kOnes << 7); };
  while (true) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof(word));
    const std::uint64_t found = zeros(word) | zeros(word ^ (kOnes * '"')) | zeros(word ^ (kOnes * '\\'));
    if (found != 0) return at + std::countr_zero(found) / 8;
    at += sizeof(word);
  }
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

}  // namespace

JsonStream::JsonStream(ByteSource source) : source_(std::move(source)), buffer_(kWindow + kPadding) {
  at_ = end_ = buffer_.data();
}

void JsonStream::refuse(std::string what) const {
  throw EnvironmentError({.kind = ErrorKind::kInput,
                          .what = std::move(what),
                          .where = fmt::format("{}, byte {}", source_.path(), token_at_),
                          .remedy = "the file is damaged or of another kind"});
}

/// Reads on, keeping what stands from keep_ (else from at_) on; false at the end of the file. A window that one text fills grows.
bool JsonStream::fill() {
  if (ended_) return false;
  const char* const from = keep_ != nullptr ? keep_ : at_;
  const auto kept = static_cast<std::size_t>(end_ - from);
  const auto behind = at_ - from;
  window_at_ += from - buffer_.data();
  std::memmove(buffer_.data(), from, kept);
  if (kept >= buffer_.size() - kPadding) {
    if (kept >= kLongestText) refuse(fmt::format("a text or number longer than {} bytes", kLongestText));
    buffer_.resize(2 * kept + kPadding);
  }
  const std::size_t got = source_.read(buffer_.data() + kept, buffer_.size() - kPadding - kept);
  ended_ = got == 0;
  if (keep_ != nullptr) keep_ = buffer_.data();
  at_ = buffer_.data() + behind;
  end_ = buffer_.data() + kept + got;
  std::memset(buffer_.data() + kept + got, 0, kPadding);
  return !ended_;
}

/// The next letter that is no white space, at which at_ then stands; 0 at the end of the file.
char JsonStream::peek() {
  while (true) {
    while (is(*at_, kWhite)) ++at_;
    if (at_ < end_ || !fill()) return *at_;
  }
}

char JsonStream::peek_behind_comma() {
  const char letter = peek();
  if (letter != ',') return letter;
  ++at_;
  return peek();
}

bool JsonStream::at_end() {
  peek();
  mark();
  return at_ == end_;
}

void JsonStream::enter(bool object) {
  ++at_;
  if (depth_ >= kDeepest) refuse(fmt::format("objects and arrays more than {} deep", kDeepest));
  is_object_[depth_++] = object;
}

void JsonStream::leave(bool object) {
  ++at_;
  if (depth_ == 0 || is_object_[depth_ - 1] != object) refuse(object ? "a '}' that closes nothing" : "a ']' that closes nothing");
  --depth_;
}

JsonToken JsonStream::next() { return read_token(peek_behind_comma()); }

JsonToken JsonStream::read_token(char letter) {
  mark();
  switch (letter) {
    case '"': read_text(); return JsonToken::kText;
    case '{': enter(true); return JsonToken::kObject;
    case '[': enter(false); return JsonToken::kArray;
    case '}': leave(true); return JsonToken::kObjectEnd;
    case ']': leave(false); return JsonToken::kArrayEnd;
    default: break;
  }
  if (at_ == end_) return JsonToken::kEnd;
  if (!is(letter, kNumeric) || (letter == '-' && need() == 'I')) return read_other(letter);
  read_number();
  return JsonToken::kNumber;
}

/// A word, or nothing that may stand here.
JsonToken JsonStream::read_other(char letter) {
  switch (letter) {
    case 't': read_word("true"); return JsonToken::kTrue;
    case 'f': read_word("false"); return JsonToken::kFalse;
    case 'n': read_word(need() == 'a' ? "nan" : "null"); return JsonToken::kNull;
    case 'N': read_word("NaN"); return JsonToken::kNull;
    case '-': ++at_; [[fallthrough]];
    case 'I': read_word("Infinity"); return JsonToken::kNull;
    case 'i': read_word("inf"); return JsonToken::kNull;
    default: break;
  }
  refuse(fmt::format("'{}' where a value should begin", letter >= ' ' && letter < 127 ? letter : '?'));
}

/// The character behind the current one; 0 at the end.
char JsonStream::need() {
  if (at_ + 1 >= end_) {
    keep_ = at_;
    fill();
    keep_ = nullptr;
  }
  return at_ + 1 < end_ ? at_[1] : '\0';
}

void JsonStream::read_word(std::string_view word) {
  for (const char letter : word) {
    if (at_ == end_ && !fill()) refuse("the file ends within a value");
    if (*at_ != letter) refuse(fmt::format("no value: '{}' was begun", word));
    ++at_;
  }
  text_ = word;
}

void JsonStream::read_number() {
  keep_ = at_;
  while (true) {
    while (is(*at_, kNumeric)) ++at_;
    if (at_ < end_ || !fill()) break;
  }
  text_ = {keep_, static_cast<std::size_t>(at_ - keep_)};
  keep_ = nullptr;
}

void JsonStream::read_text() {
  keep_ = ++at_;
  while (true) {
    at_ = end_of_text(at_);
    if (at_ == end_) {
      if (!fill()) refuse("the file ends within a text");
      continue;
    }
    if (*at_ == '"') break;
    if (*at_ == '\\') return read_escaped();
    ++at_;  // a 0 within the text
  }
  text_ = {keep_, static_cast<std::size_t>(at_ - keep_)};
  keep_ = nullptr;
  ++at_;
}

/// The rest of a text that has an escape, at which at_ stands.
void JsonStream::read_escaped() {
  escaped_.assign(keep_, static_cast<std::size_t>(at_ - keep_));
  keep_ = nullptr;
  while (true) {
    if (at_ == end_ && !fill()) refuse("the file ends within a text");
    const char letter = *at_++;
    if (letter == '"') break;
    if (letter == '\\') {
      append_escape();
    } else {
      escaped_.push_back(letter);
    }
    if (escaped_.size() > kLongestText) refuse(fmt::format("a text longer than {} bytes", kLongestText));
  }
  text_ = escaped_;
}

void JsonStream::append_escape() {
  if (at_ == end_ && !fill()) refuse("the file ends within a text");
  const char letter = *at_++;
  switch (letter) {
    case 'n': escaped_.push_back('\n'); return;
    case 't': escaped_.push_back('\t'); return;
    case 'r': escaped_.push_back('\r'); return;
    case 'b': escaped_.push_back('\b'); return;
    case 'f': escaped_.push_back('\f'); return;
    case 'u': break;
    default: escaped_.push_back(letter); return;  // '"', '\\', '/', and what nobody should have escaped
  }
  std::uint32_t code = read_hex();
  const bool high = code >= 0xd800 && code < 0xdc00;
  if (high && at_ < end_ && *at_ == '\\' && need() == 'u') {
    at_ += 2;
    const std::uint32_t low = read_hex();
    code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
  }
  append_utf8(escaped_, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
}

std::uint32_t JsonStream::read_hex() {
  std::uint32_t code = 0;
  for (int i = 0; i < 4; ++i) {
    if (at_ == end_ && !fill()) refuse("the file ends within a text");
    const char letter = *at_++;
    const bool digit = letter >= '0' && letter <= '9';
    const char lower = static_cast<char>(letter | 0x20);
    if (!digit && (lower < 'a' || lower > 'f')) refuse("\\u without four hexadecimal digits");
    code = code << 4 | static_cast<std::uint32_t>(digit ? letter - '0' : lower - 'a' + 10);
  }
  return code;
}

bool JsonStream::next_key(std::string_view& key) {
  const char letter = peek_behind_comma();
  mark();
  if (letter == '}') {
    leave(true);
    return false;
  }
  if (at_ == end_) refuse("the file ends within an object");
  if (letter != '"') refuse("no key where one should be");
  read_text();
  if (*at_ != ':') {
    if (text_.data() != escaped_.data()) escaped_.assign(text_);  // the window may move on to the colon
    text_ = escaped_;
    if (peek() != ':') refuse(at_ == end_ ? "the file ends within an object" : "no colon behind a key");
  }
  ++at_;
  key = text_;
  return true;
}

void JsonStream::skip() {
  if (peek() != '"') return skip_rest(next());
  mark();
  pass_text();
}

void JsonStream::pass_text() {
  ++at_;
  while (true) {
    at_ = end_of_text(at_);
    if (at_ == end_) {
      if (!fill()) refuse("the file ends within a text");
      continue;
    }
    const char letter = *at_++;
    if (letter == '"') return;
    if (letter != '\\') continue;  // a 0 within the text
    if (at_ == end_ && !fill()) refuse("the file ends within a text");
    ++at_;
  }
}

void JsonStream::skip_rest(JsonToken first) {
  if (first == JsonToken::kEnd) refuse("the file ends where a value should be");
  if (first != JsonToken::kObject && first != JsonToken::kArray) return;
  for (const std::size_t outside = depth_ - 1; depth_ > outside;) {
    while (is(*at_, kBetween)) ++at_;
    if (at_ == end_) {
      if (fill()) continue;
      mark();
      refuse("the file ends within a value");
    }
    mark();
    switch (*at_) {
      case '"': pass_text(); break;
      case '{': enter(true); break;
      case '[': enter(false); break;
      case '}': leave(true); break;
      case ']': leave(false); break;
      default: read_other(*at_);
    }
  }
}

}  // namespace plimsoll
