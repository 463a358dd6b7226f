#include "executor/data/batch_rows.h"
#include "executor/data/row_key.h"

namespace plimsoll {

std::int64_t window_start(std::uint64_t seed, std::int64_t step, std::int64_t micro_batch, std::int64_t row,
                          std::int64_t corpus_tokens, std::int64_t sequence) {
  const std::uint64_t key = row_key({.seed = seed, .step = step, .micro_batch = micro_batch}, row);
  return to_range(key, corpus_tokens - sequence);
}

Result<void> check_windows(const TokenSource& tokens, const Recipe& recipe) {
  if (tokens.size() > recipe.sequence) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = "the corpus has " + std::to_string(tokens.size()) + " tokens, fewer than the " +
                       std::to_string(recipe.sequence + 1) + " of one window",
               .where = {},
               .remedy = {}});
}

Result<void> TokenSource::check(const ModelSpec& spec, const Recipe& recipe) const {
  if (spec.head == HeadKind::kNextToken && !spec.has_encoder_and_decoder()) return check_windows(*this, recipe);
  return fail({.kind = ErrorKind::kInput,
               .what = "these are bare tokens, but the model learns from hidden tokens, labels or targets apart",
               .where = spec.name,
               .remedy = {}});
}

void TokenSource::fill(const BatchPlace& place, const Recipe& recipe, std::span<const std::span<std::byte>> parts) const {
  const std::span<std::int32_t> tokens = part_as<std::int32_t>(parts[0]);
  const auto width = static_cast<std::size_t>(recipe.sequence + 1);
  const BatchRows batch{place.seed, place.micro_batches, recipe.micro_batch, recipe.sequence};
  for (std::int64_t row = 0; row < recipe.micro_batch; ++row) {
    const std::int64_t at = row_start(*this, batch, place.step, place.micro_batch, row);
    read(at, tokens.subspan(static_cast<std::size_t>(row) * width, width));
  }
}

}  // namespace plimsoll
