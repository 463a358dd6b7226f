#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/base/result.h"
#include "executor/data/batch_source.h"

namespace plimsoll {

/// A corpus that batches are drawn from. Which tokens a batch holds depends only on (seed, step, micro-batch, row), so
/// a resumed run sees what an uninterrupted one would have seen.
class TokenSource : public BatchSource {
 public:
  /// Number of tokens.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Copies `out.size()` tokens from `offset` on, as elements of a tokens tensor (core/graph/masked_token.h).
  virtual void read(std::int64_t offset, std::span<std::int32_t> out) const = 0;

  [[nodiscard]] Result<void> check(const ModelSpec& spec, const Recipe& recipe) const override;
  /// Windows of tokens, or packed rows, and the token after each.
  void fill(const BatchPlace& place, const Recipe& recipe, std::span<const std::span<std::byte>> parts) const override;
  /// Tokens of a packed row, which is trained on as a whole; 0: any window of the corpus may be.
  [[nodiscard]] virtual std::int64_t row() const { return 0; }
  /// True when some tokens do not count as targets.
  [[nodiscard]] virtual bool masked() const { return false; }
  /// How many of the `tokens` from `offset` on count as targets.
  [[nodiscard]] virtual std::int64_t counted(std::int64_t offset, std::int64_t tokens) const;
  [[nodiscard]] const TokenSource* masked_tokens() const final { return masked() ? this : nullptr; }
};

/// Opens a token file (`plimsoll tokenize`), or an array of little-endian uint16 tokens when its name ends in ".bin", or
/// a text file (each byte is a token). Errors: missing, empty, shorter than sequence + 1 tokens, packed for another
/// sequence, or a token beyond the vocabulary (its offset is named).
Result<std::unique_ptr<TokenSource>> open_token_source(const std::string& path, std::int64_t vocabulary,
                                                       std::int64_t sequence);

/// Start of row `row` of a batch: uniform over all windows of sequence + 1 tokens, by a counter-based generator.
std::int64_t window_start(std::uint64_t seed, std::int64_t step, std::int64_t micro_batch, std::int64_t row,
                          std::int64_t corpus_tokens, std::int64_t sequence);

/// Whether the corpus has a window for that recipe.
Result<void> check_windows(const TokenSource& tokens, const Recipe& recipe);

}  // namespace plimsoll
