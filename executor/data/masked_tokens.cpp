#include "executor/data/masked_tokens.h"

#include "core/graph/masked_token.h"
#include "executor/data/hide_tokens.h"
#include "executor/data/row_key.h"

namespace plimsoll {
Result<void> MaskedTokens::check(const ModelSpec& spec, const Recipe& recipe) const {
  if (spec.head == HeadKind::kMaskedToken && spec.vocabulary == spec_.vocabulary) return check_windows(*corpus_, recipe);
  return fail({.kind = ErrorKind::kInput,
               .what = "these are tokens to hide, but the model does not learn to find hidden ones",
               .where = spec.name,
               .remedy = {}});
}

void MaskedTokens::fill(const BatchPlace& place, const Recipe& recipe, std::span<const std::span<std::byte>> parts) const {
  const auto tokens = part_as<std::int32_t>(parts[0]), extents = part_as<std::int32_t>(parts[1]);
  const auto labels = part_as<std::int32_t>(parts[2]);
  const auto width = static_cast<std::size_t>(recipe.sequence);
  for (std::int64_t r = 0; r < recipe.micro_batch; ++r) {
    const auto row = static_cast<std::size_t>(r);
    const std::int64_t at = window_start(place.seed, place.step, place.micro_batch, r, corpus_->size(), recipe.sequence);
    const auto window = tokens.subspan(row * (width + 1), width);
    corpus_->read(at, window);
    for (std::int32_t& token : window) token = token_id(token);  // hidden ones count, whatever a mask says
    tokens[row * (width + 1) + width] = 0;
    extents[2 * row] = extents[2 * row + 1] = static_cast<std::int32_t>(width);
    hide_tokens(random_at(row_key(place, r), kHidingStream), spec_, window, labels.subspan(row * width, width));
  }
}

}  // namespace plimsoll
