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

std::int64_t loss_tokens(const ModelSpec& spec, const Recipe& recipe) {
  if (!can_be_cut(spec) || recipe.sequence <= 0) return 0;
  const std::int64_t row = spec.vocabulary * size_of(compute_dtype(recipe.precision));
  const std::int64_t most = std::max(kFewestTokens, kMostBytes / row);
  if (recipe.tokens_per_micro_batch() <= most) return 0;
  if (recipe.sequence <= most) return most / recipe.sequence * recipe.sequence;
  const std::int64_t parts = (recipe.sequence + most - 1) / most;
  return (recipe.sequence + parts - 1) / parts;
}

}  // namespace plimsoll
