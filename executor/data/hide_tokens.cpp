#include "executor/data/hide_tokens.h"

#include <algorithm>

#include "executor/data/counter_random.h"

namespace plimsoll {
namespace {

constexpr double kHidden = 0.15;
constexpr double kMasked = 0.8;    // of the hidden ones
constexpr double kReplaced = 0.9;  // these and those before
constexpr std::uint64_t kWords = 3;  // random words a token: whether, how, with what

/// What stands for the token at `place`.
std::int32_t replacement(std::uint64_t key, std::uint64_t place, const ModelSpec& spec, std::int32_t token) {
  const double how = to_unit(random_at(key, kWords * place + 1));
  if (how < kMasked) return mask_token_of(spec);
  if (how >= kReplaced) return token;
  return static_cast<std::int32_t>(to_range(random_at(key, kWords * place + 2), spec.vocabulary));
}

}  // namespace

std::int32_t mask_token_of(const ModelSpec& spec) {
  return static_cast<std::int32_t>(spec.mask_token >= 0 ? spec.mask_token : spec.vocabulary - 1);
}

void hide_tokens(std::uint64_t key, const ModelSpec& spec, std::span<std::int32_t> tokens, std::span<std::int32_t> labels) {
  std::fill(labels.begin(), labels.end(), -1);
  const auto hide = [&](std::size_t place) {
    labels[place] = tokens[place];
    tokens[place] = replacement(key, place, spec, tokens[place]);
  };
  bool any = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (to_unit(random_at(key, kWords * i)) >= kHidden) continue;
    hide(i);
    any = true;
  }
  const auto count = static_cast<std::int64_t>(tokens.size());
  if (!any && count > 0) hide(static_cast<std::size_t>(to_range(random_at(key, kWords * tokens.size()), count)));
}

}  // namespace plimsoll
