#include "formats/traces/json_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace plimsoll {
namespace {

constexpr std::size_t kWindow = std::size_t{1} << 20;
constexpr std::size_t kLongestText = std::size_t{16} << 20;
constexpr std::size_t kDeepest = 128;

enum Class : std::uint8_t { kPlain, kWhite, kEndsText, kNumeric };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (const char letter : {' ', '\t', '\r', '\n'}) classes[static_cast<unsigned char>(letter)] = kWhite;
  for (const char letter : {'"', '\\', '\0'}) classes[static_cast<unsigned char>(letter)] = kEndsText;
  for (const char letter : {'+', '-', '.', 'e', 'E'}) classes[static_cast<unsigned char>(letter)] = kNumeric;
  for (char digit = '0'; digit <= '9'; ++digit) classes[static_cast<unsigned char>(digit)] = kNumeric;
  return classes;
}
constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

std::uint8_t class_of(char letter) { return kClasses[static_cast<unsigned char>(letter)]; }

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

JsonStream::JsonStream(ByteSource source) : source_(std::move(source)), buffer_(kWindow + 1) {
  at_ = end_ = buffer_.data();
  buffer_[0] = 0;
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
  if (kept >= buffer_.size() - 1) {
    if (kept >= kLongestText) refuse(fmt::format("a text or number longer than {} bytes", kLongestText));
    buffer_.resize(2 * kept + 1);
  }
  const std::size_t got = source_.read(buffer_.data() + kept, buffer_.size() - 1 - kept);
  ended_ = got == 0;
  if (keep_ != nullptr) keep_ = buffer_.data();
  at_ = buffer_.data() + behind;
  end_ = buffer_.data() + kept + got;
  buffer_[kept + got] = 0;
  return !ended_;
}

void JsonStream::pass_white() {
  while (true) {
    while (class_of(*at_) == kWhite) ++at_;
    if (at_ < end_ || !fill()) return;
  }
}

bool JsonStream::pass_comma() {
  pass_white();
  if (at_ == end_ || *at_ != ',') return false;
  ++at_;
  pass_white();
  return true;
}

bool JsonStream::at_end() {
  pass_white();
  token_at_ = window_at_ + (at_ - buffer_.data());
  return at_ == end_;
}

void JsonStream::enter(bool object) {
  if (open_.size() >= kDeepest) refuse(fmt::format("objects and arrays more than {} deep", kDeepest));
  open_.push_back(object);
}

void JsonStream::leave(bool object) {
  if (open_.empty() || open_.back() != object) refuse(object ? "a '}' that closes nothing" : "a ']' that closes nothing");
  open_.pop_back();
}

JsonToken JsonStream::next() {
  pass_comma();
  return read_token();
}

JsonToken JsonStream::read_token() {
  if (at_end()) return JsonToken::kEnd;
  switch (*at_) {
    case '{': ++at_; enter(true); return JsonToken::kObject;
    case '[': ++at_; enter(false); return JsonToken::kArray;
    case '}': ++at_; leave(true); return JsonToken::kObjectEnd;
    case ']': ++at_; leave(false); return JsonToken::kArrayEnd;
    case '"': read_text(); return JsonToken::kText;
    case 't': read_word("true"); return JsonToken::kTrue;
    case 'f': read_word("false"); return JsonToken::kFalse;
    case 'n': read_word(at_ + 1 < end_ && at_[1] == 'a' ? "nan" : "null"); return JsonToken::kNull;
    case 'N': read_word("NaN"); return JsonToken::kNull;
    case 'I': read_word("Infinity"); return JsonToken::kNull;
    case 'i': read_word("inf"); return JsonToken::kNull;
    default: break;
  }
  if (*at_ == '-' && need() == 'I') {
    ++at_;
    read_word("Infinity");
    return JsonToken::kNull;
  }
  if (class_of(*at_) != kNumeric) refuse(fmt::format("'{}' where a value should begin", *at_ >= ' ' && *at_ < 127 ? *at_ : '?'));
  read_number();
  return JsonToken::kNumber;
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
}

void JsonStream::read_number() {
  keep_ = at_;
  while (true) {
    while (class_of(*at_) == kNumeric) ++at_;
    if (at_ < end_ || !fill()) break;
  }
  text_ = {keep_, static_cast<std::size_t>(at_ - keep_)};
  keep_ = nullptr;
}

void JsonStream::read_text() {
  keep_ = ++at_;
  while (true) {
    while (class_of(*at_) != kEndsText) ++at_;
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
  pass_comma();
  const JsonToken token = read_token();
  if (token == JsonToken::kObjectEnd) return false;
  if (token == JsonToken::kEnd) refuse("the file ends within an object");
  if (token != JsonToken::kText) refuse("no key where one should be");
  if (text_.data() != escaped_.data()) escaped_.assign(text_);  // the window may move on to the colon
  pass_white();
  if (at_ == end_) refuse("the file ends within an object");
  if (*at_ != ':') refuse("no colon behind a key");
  ++at_;
  key = escaped_;
  return true;
}

void JsonStream::skip() { skip_rest(next()); }

void JsonStream::skip_rest(JsonToken first) {
  if (first == JsonToken::kEnd) refuse("the file ends where a value should be");
  int open = first == JsonToken::kObject || first == JsonToken::kArray ? 1 : 0;
  while (open > 0) {
    pass_white();
    if (at_ == end_) refuse("the file ends within a value");
    if (*at_ == ':' || *at_ == ',') {
      ++at_;
      continue;
    }
    const JsonToken token = read_token();
    if (token == JsonToken::kObject || token == JsonToken::kArray) ++open;
    if (token == JsonToken::kObjectEnd || token == JsonToken::kArrayEnd) --open;
  }
}

}  // namespace plimsoll
