#include "executor/data/token_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "formats/text/open_file.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> bad(const std::string& path, std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path, .remedy = std::move(remedy)});
}

std::int32_t to_token(std::byte byte) { return std::to_integer<std::int32_t>(byte); }

/// Tokens of `Width` bytes each, little-endian. Reads copy through the page cache instead of mapping, so that a file
/// which shrinks under a running job is an error and not a SIGBUS, and the corpus takes no memory that the plan does
/// not know.
template <std::int64_t Width>
class FileTokens final : public TokenSource {
 public:
  FileTokens(OpenFile file, const std::string& path, std::int64_t vocabulary)
      : file_(std::move(file)), bytes_(file_.size()), path_(path), vocabulary_(vocabulary) {}

  [[nodiscard]] std::int64_t size() const override { return bytes_.count / Width; }

  /// Checks every token again: a corpus edited under a running job must not index beyond the embedding.
  void read(std::int64_t offset, std::span<std::int32_t> out) const override {
    decode(offset, out);
    const auto beyond = find_beyond(out);
    if (beyond == out.end()) return;
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = fmt::format("the corpus changed while it was in use: token {} at offset {}",
                                                *beyond, offset + (beyond - out.begin())),
                            .where = path_,
                            .remedy = {}});
  }

  /// Reads the whole corpus once and names the first token beyond the vocabulary.
  [[nodiscard]] Result<void> check() const {
    constexpr std::int64_t kChunk = std::int64_t{1} << 18;
    if (vocabulary_ >= (std::int64_t{1} << (8 * Width))) return {};
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(std::min(kChunk, size())));
    for (std::int64_t at = 0; at < size(); at += kChunk) {
      const std::span<std::int32_t> part =
          std::span(tokens).first(static_cast<std::size_t>(std::min(kChunk, size() - at)));
      decode(at, part);
      const auto beyond = find_beyond(part);
      if (beyond == part.end()) continue;
      return bad(path_,
                 fmt::format("token {} at offset {} is beyond the vocabulary of {}", *beyond,
                             at + (beyond - part.begin()), vocabulary_),
                 "use the tokenizer that belongs to the model");
    }
    return {};
  }

  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  void decode(std::int64_t offset, std::span<std::int32_t> out) const {
    std::vector<std::byte> raw(out.size() * Width);
    file_.read_at(Bytes(offset * Width), raw);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = to_token(raw[i * Width]);
      if constexpr (Width == 2) out[i] |= to_token(raw[i * 2 + 1]) << 8;
    }
  }

  [[nodiscard]] std::span<std::int32_t>::iterator find_beyond(std::span<std::int32_t> tokens) const {
    return std::find_if(tokens.begin(), tokens.end(), [&](std::int32_t token) { return token >= vocabulary_; });
  }

  OpenFile file_;
  Bytes bytes_;  ///< when it was opened
  std::string path_;
  std::int64_t vocabulary_;
};

template <std::int64_t Width>
Result<std::unique_ptr<TokenSource>> open_as(const std::string& path, std::int64_t vocabulary, std::int64_t sequence) {
  auto file = OpenFile::for_reading(path);
  if (!file) return fail(file.error());
  auto tokens = std::make_unique<FileTokens<Width>>(std::move(*file), path, vocabulary);
  if (tokens->bytes() == Bytes(0)) return bad(path, "the corpus is empty");
  if (tokens->bytes().count % Width != 0)
    return bad(path, "a .bin corpus holds 2-byte tokens, but this one has an odd number of bytes");
  if (tokens->size() < sequence + 1) {
    return bad(path,
               fmt::format("the corpus has {} tokens, fewer than the {} of one window", tokens->size(), sequence + 1),
               "use a longer corpus or a smaller --seq");
  }
  if (auto checked = tokens->check(); !checked) return fail(checked.error());
  return std::unique_ptr<TokenSource>(std::move(tokens));
}

}  // namespace

Result<std::unique_ptr<TokenSource>> open_token_source(const std::string& path, std::int64_t vocabulary,
                                                       std::int64_t sequence) {
  return path.ends_with(".bin") ? open_as<2>(path, vocabulary, sequence) : open_as<1>(path, vocabulary, sequence);
}

}  // namespace plimsoll
