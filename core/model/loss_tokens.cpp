#include "core/model/loss_tokens.h"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr std::int64_t kFewestTokens = 1024;
constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

bool can_be_cut(const ModelSpec& spec) {
  return spec.head == HeadKind::kNextToken && !spec.post_norm && !spec.head_bias && spec.vocabulary > 0;
}

}  // namespace

std::int64_t predicted_tokens(const ModelSpec& spec, const Recipe& recipe) {
  return spec.has_encoder_and_decoder() ? target_tokens(recipe) : recipe.sequence;
}

std::int64_t loss_tokens(const ModelSpec& spec, const Recipe& recipe) {
  const std::int64_t sequence = predicted_tokens(spec, recipe);
  if (!can_be_cut(spec) || sequence <= 0) return 0;
  const std::int64_t row = spec.vocabulary * size_of(compute_dtype(recipe.precision));
  const std::int64_t most = std::max(kFewestTokens, kMostBytes / row);
  if (recipe.micro_batch * sequence <= most) return 0;
  if (sequence <= most) return most / sequence * sequence;
  const std::int64_t parts = (sequence + most - 1) / most;
  return (sequence + parts - 1) / parts;
}

}  // namespace plimsoll
