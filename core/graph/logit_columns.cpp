#include "core/graph/logit_columns.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kWhole = 8;            // two-byte numbers in 16 bytes
constexpr std::int64_t kWordsAColumn = 1000;  // of small vocabularies further columns would be work, and no product is slow

bool is_followed_by_rows(const ModelSpec& spec, std::int64_t count) {
  return spec.positions == PositionKind::kLearned && spec.max_positions >= count && spec.token_width() == spec.hidden;
}

}  // namespace

std::int64_t logit_columns(const ModelSpec& spec) {
  const std::int64_t more = (kWhole - spec.vocabulary % kWhole) % kWhole;
  if (more * kWordsAColumn > spec.vocabulary || !spec.tied_head || spec.head_bias) return spec.vocabulary;
  return spec.vocabulary + (is_followed_by_rows(spec, more) ? more : 0);
}

}  // namespace plimsoll
