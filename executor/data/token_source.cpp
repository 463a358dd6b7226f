#include "executor/data/token_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "core/graph/masked_token.h"
#include "formats/corpus/token_file.h"
#include "formats/text/open_file.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> bad(const std::string& path, std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path, .remedy = std::move(remedy)});
}

/// Tokens of 1, 2 or 4 bytes each, little-endian, and perhaps their mask. Reads copy through the page cache instead of
/// mapping, so that a file which shrinks under a running job is an error and not a SIGBUS, and the corpus takes no memory
/// that the plan does not know.
class FileTokens final : public TokenSource {
 public:
  FileTokens(OpenFile file, const TokenFileNote& note, const std::string& path, std::int64_t vocabulary)
      : file_(std::move(file)), note_(note), path_(path), vocabulary_(vocabulary) {}

  [[nodiscard]] std::int64_t size() const override { return note_.tokens; }
  [[nodiscard]] std::int64_t row() const override { return note_.row; }
  [[nodiscard]] bool masked() const override { return note_.masked; }

  /// Checks every token again: a corpus edited under a running job must not index beyond the embedding.
  void read(std::int64_t offset, std::span<std::int32_t> out) const override {
    decode(offset, out);
    const auto beyond = find_beyond(out);
    if (beyond == out.end()) {
      if (masked()) mark(offset, out);
      return;
    }
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = fmt::format("the corpus changed while it was in use: token {} at offset {}",
                                                *beyond, offset + (beyond - out.begin())),
                            .where = path_,
                            .remedy = {}});
  }

  [[nodiscard]] std::int64_t counted(std::int64_t offset, std::int64_t tokens) const override {
    if (!masked()) return tokens;
    std::int64_t sum = 0;
    const std::vector<std::byte> bits = mask_bytes(offset, tokens);
    for (std::int64_t i = 0; i < tokens; ++i) sum += is_set(bits, offset % 8 + i) ? 1 : 0;
    return sum;
  }

  /// Reads the whole corpus once and names the first token beyond the vocabulary.
  [[nodiscard]] Result<void> check() const {
    constexpr std::int64_t kChunk = std::int64_t{1} << 18;
    if (vocabulary_ >= (std::int64_t{1} << (8 * note_.width))) return {};
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(std::min(kChunk, size())));
    for (std::int64_t at = 0; at < size(); at += kChunk) {
      const std::span<std::int32_t> part =
          std::span(tokens).first(static_cast<std::size_t>(std::min(kChunk, size() - at)));
      decode(at, part);
      const auto beyond = find_beyond(part);
      if (beyond == part.end()) continue;
      return bad(path_,
                 fmt::format("token {} at offset {} is beyond the vocabulary of {}", static_cast<std::uint32_t>(*beyond),
                             at + (beyond - part.begin()), vocabulary_),
                 "use the tokenizer that belongs to the model");
    }
    return {};
  }

 private:
  void decode(std::int64_t offset, std::span<std::int32_t> out) const {
    const auto width = static_cast<std::size_t>(note_.width);
    std::vector<std::byte> raw(out.size() * width);
    file_.read_at(Bytes(offset * note_.width), raw);
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::uint32_t token = 0;
      for (std::size_t k = 0; k < width; ++k) token |= std::to_integer<std::uint32_t>(raw[i * width + k]) << (8 * k);
      out[i] = static_cast<std::int32_t>(token);
    }
  }

  /// The bytes of the mask that hold the bits of `tokens` from `offset` on.
  [[nodiscard]] std::vector<std::byte> mask_bytes(std::int64_t offset, std::int64_t tokens) const {
    const std::int64_t first = offset / 8;
    const std::int64_t end = (offset + tokens + 7) / 8;
    std::vector<std::byte> bits(static_cast<std::size_t>(end - first));
    file_.read_at(note_.mask_offset() + Bytes(first), bits);
    return bits;
  }

  static bool is_set(const std::vector<std::byte>& bits, std::int64_t bit) {
    return (bits[static_cast<std::size_t>(bit / 8)] >> (bit % 8) & std::byte{1}) != std::byte{0};
  }

  void mark(std::int64_t offset, std::span<std::int32_t> out) const {
    const auto count = static_cast<std::int64_t>(out.size());
    const std::vector<std::byte> bits = mask_bytes(offset, count);
    for (std::int64_t i = 0; i < count; ++i) {
      if (!is_set(bits, offset % 8 + i)) out[static_cast<std::size_t>(i)] |= kUncounted;
    }
  }

  [[nodiscard]] std::span<std::int32_t>::iterator find_beyond(std::span<std::int32_t> tokens) const {
    return std::find_if(tokens.begin(), tokens.end(),
                        [&](std::int32_t token) { return token < 0 || token >= vocabulary_; });
  }

  OpenFile file_;
  TokenFileNote note_;  ///< as it was when the file was opened
  std::string path_;
  std::int64_t vocabulary_;
};

/// What the file says of itself, or what its name says.
Result<TokenFileNote> note_of(const OpenFile& file, const std::string& path) {
  const auto note = read_token_file_note(file, path);
  if (!note) return fail(note.error());
  if (*note) return **note;
  const Bytes bytes = file.size();
  const std::int64_t width = path.ends_with(".bin") ? 2 : 1;
  if (bytes == Bytes(0)) return bad(path, "the corpus is empty");
  if (bytes.count % width != 0) {
    return bad(path, "a .bin corpus holds 2-byte tokens, but this one has an odd number of bytes");
  }
  return TokenFileNote{.width = width, .tokens = bytes.count / width, .counted = bytes.count / width};
}

Result<void> check_sequence(const TokenFileNote& note, const std::string& path, std::int64_t sequence) {
  if (note.row > 0 && note.row != sequence + 1) {
    return bad(path, fmt::format("the corpus is packed for sequences of {} tokens, not {}", note.row - 1, sequence),
               fmt::format("use --seq {}, or tokenize with --pack {}", note.row - 1, sequence));
  }
  if (note.tokens > sequence) return {};
  return bad(path, fmt::format("the corpus has {} tokens, fewer than the {} of one window", note.tokens, sequence + 1),
             "use a longer corpus or a smaller --seq");
}

}  // namespace

std::int64_t TokenSource::counted(std::int64_t, std::int64_t tokens) const { return tokens; }

Result<std::unique_ptr<TokenSource>> open_token_source(const std::string& path, std::int64_t vocabulary,
                                                       std::int64_t sequence) {
  auto file = OpenFile::for_reading(path);
  if (!file) return fail(file.error());
  const auto note = note_of(*file, path);
  if (!note) return fail(note.error());
  if (const auto enough = check_sequence(*note, path, sequence); !enough) return fail(enough.error());
  if (note->masked && note->counted == 0) return bad(path, "no token of the corpus counts", "tokenize with --train-on all");
  auto tokens = std::make_unique<FileTokens>(std::move(*file), *note, path, vocabulary);
  if (auto checked = tokens->check(); !checked) return fail(checked.error());
  return std::unique_ptr<TokenSource>(std::move(tokens));
}

}  // namespace plimsoll
