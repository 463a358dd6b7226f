#include "formats/corpus/token_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <system_error>

namespace plimsoll {
namespace {

constexpr std::string_view kMagic = "plimsoll tokens\n";  // 16 bytes
constexpr std::int64_t kVersion = 1;
constexpr std::size_t kDigest = 16;
constexpr std::size_t kFlushAt = std::size_t{1} << 20;

/// The note's numbers in the order in which they stand behind the magic, each eight bytes, little-endian.
enum Field { kVersionField, kWidth, kTokens, kCounted, kVocabulary, kRow, kMasked, kFields };

static_assert(kMagic.size() + kFields * 8 + kDigest <= kTokenFileNoteBytes);

std::array<std::byte, kTokenFileNoteBytes> bytes_of(const TokenFileNote& note) {
  std::array<std::byte, kTokenFileNoteBytes> bytes{};
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  const std::int64_t numbers[kFields] = {kVersion,        note.width, note.tokens,        note.counted,
                                         note.vocabulary, note.row,   note.masked ? 1 : 0};
  for (std::size_t i = 0; i < kFields; ++i) {
    for (std::size_t k = 0; k < 8; ++k) {
      bytes[kMagic.size() + i * 8 + k] = static_cast<std::byte>(static_cast<std::uint64_t>(numbers[i]) >> (8 * k));
    }
  }
  std::memcpy(bytes.data() + kMagic.size() + kFields * 8, note.tokenizer.data(), std::min(kDigest, note.tokenizer.size()));
  return bytes;
}

std::int64_t number_at(std::span<const std::byte> bytes, std::size_t field) {
  std::uint64_t number = 0;
  for (std::size_t k = 0; k < 8; ++k) {
    number |= std::to_integer<std::uint64_t>(bytes[kMagic.size() + field * 8 + k]) << (8 * k);
  }
  return static_cast<std::int64_t>(number);
}

tl::unexpected<Error> bad(const std::string& where, std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = where, .remedy = std::move(remedy)});
}

bool is_sound(const TokenFileNote& note, Bytes file) {
  const auto within = [&](std::int64_t count, std::int64_t most) { return count >= 0 && count <= most; };
  return (note.width == 2 || note.width == 4) && within(note.tokens, file.count) && within(note.counted, note.tokens) &&
         within(note.row, note.tokens) && (note.row == 0 || note.tokens % note.row == 0) && note.vocabulary >= 0 &&
         note.mask_offset() + note.mask_bytes() + Bytes(kTokenFileNoteBytes) == file;
}

}  // namespace

Result<std::optional<TokenFileNote>> read_token_file_note(const OpenFile& file, const std::string& where) {
  const Bytes size = file.size();
  if (size < Bytes(kTokenFileNoteBytes)) return std::nullopt;
  std::array<std::byte, kTokenFileNoteBytes> bytes{};
  file.read_at(size - Bytes(kTokenFileNoteBytes), bytes);
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) return std::nullopt;
  if (number_at(bytes, kVersionField) != kVersion) {
    return bad(where, "this token file is of a version that this program does not know", "update plimsoll, or tokenize again");
  }
  const char* digest = reinterpret_cast<const char*>(bytes.data()) + kMagic.size() + kFields * 8;
  TokenFileNote note{.width = number_at(bytes, kWidth),
                     .tokens = number_at(bytes, kTokens),
                     .counted = number_at(bytes, kCounted),
                     .vocabulary = number_at(bytes, kVocabulary),
                     .row = number_at(bytes, kRow),
                     .masked = number_at(bytes, kMasked) != 0,
                     .tokenizer = std::string(digest, strnlen(digest, kDigest))};
  if (!is_sound(note, size)) return bad(where, "this token file was cut or changed: its note does not fit it", "tokenize again");
  return note;
}

TokenFileWriter::TokenFileWriter(std::filesystem::path path, std::int64_t vocabulary, std::int64_t row, std::string tokenizer)
    : path_(std::move(path)), beside_(path_.string() + ".tmp"), file_(OpenFile::for_writing(beside_)) {
  note_.width = vocabulary > 65536 ? 4 : 2;
  note_.vocabulary = vocabulary;
  note_.row = row;
  note_.tokenizer = std::move(tokenizer);
}

TokenFileWriter::~TokenFileWriter() {
  std::error_code ignored;
  if (!finished_) std::filesystem::remove(beside_, ignored);
}

void TokenFileWriter::put(std::int32_t token) {
  for (std::int64_t k = 0; k < note_.width; ++k) {
    pending_.push_back(static_cast<std::byte>(static_cast<std::uint32_t>(token) >> (8 * k)));
  }
}

void TokenFileWriter::put_bit(bool counts) {
  if (note_.tokens % 8 == 0) bits_.push_back(std::byte{0});
  if (counts) bits_.back() |= static_cast<std::byte>(1u << (note_.tokens % 8));
  note_.counted += counts ? 1 : 0;
  ++note_.tokens;
}

void TokenFileWriter::append(std::span<const std::int32_t> tokens, const std::vector<bool>& counts) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    put(tokens[i]);
    put_bit(counts[i]);
  }
  if (pending_.size() >= kFlushAt) flush();
}

void TokenFileWriter::flush() {
  file_.append(pending_);
  pending_.clear();
}

void TokenFileWriter::finish() {
  flush();
  note_.masked = note_.counted != note_.tokens;
  if (note_.masked) file_.append(bits_);
  file_.append(bytes_of(note_));
  file_.sync();
  std::error_code problem;
  std::filesystem::rename(beside_, path_, problem);
  if (problem) {
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = "the finished file cannot be renamed into place: " + problem.message(),
                            .where = path_.string(),
                            .remedy = {}});
  }
  finished_ = true;
  sync_directory(path_.parent_path());
}

}  // namespace plimsoll
