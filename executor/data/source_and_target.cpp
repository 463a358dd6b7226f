#include "executor/data/source_and_target.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

/// Tokens of both parts of a window.
std::int64_t window_of(const Recipe& recipe) { return recipe.sequence + target_tokens(recipe); }

tl::unexpected<Error> bad(std::string what, std::string where, std::string remedy) {
  return fail(
      {.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

}  // namespace

Result<void> SourceAndTarget::check(const ModelSpec& spec, const Recipe& recipe) const {
  if (!spec.has_encoder_and_decoder()) {
    return bad("these are windows of two parts, but the model has no decoder behind an encoder", spec.name, {});
  }
  if (corpus_->masked() || corpus_->row() > 0) {
    return bad("the corpus has a mask or packed rows, which are for models that learn every next token", spec.name,
               "tokenize it without --chat and without --pack");
  }
  if (corpus_->size() >= window_of(recipe)) return {};
  return bad(fmt::format("the corpus has {} tokens, fewer than the {} of a source and its target", corpus_->size(),
                         window_of(recipe)),
             {}, "use a longer corpus or a smaller --seq");
}

void SourceAndTarget::fill(const BatchPlace& place, const Recipe& recipe,
                           std::span<const std::span<std::byte>> parts) const {
  const auto source = part_as<std::int32_t>(parts[0]), target = part_as<std::int32_t>(parts[1]);
  const auto read = static_cast<std::size_t>(recipe.sequence),
             written = static_cast<std::size_t>(target_tokens(recipe));
  for (std::int64_t r = 0; r < recipe.micro_batch; ++r) {
    const auto row = static_cast<std::size_t>(r);
    const std::int64_t at =
        window_start(place.seed, place.step, place.micro_batch, r, corpus_->size(), window_of(recipe) - 1);
    const auto own = source.subspan(row * (read + 1), read + 1);
    corpus_->read(at, own.first(read));
    own[read] = 0;  // nobody reads it
    const auto follows = target.subspan(row * (written + 1), written + 1);
    follows[0] = kStartToken;
    corpus_->read(at + recipe.sequence, follows.subspan(1));
  }
}

}  // namespace plimsoll
