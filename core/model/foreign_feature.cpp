#include "core/model/foreign_feature.h"

#include <utility>

namespace plimsoll {

std::string_view foreign_feature(const ModelSpec& spec) {
  const ExpertSpec& experts = spec.experts;
  const std::pair<bool, std::string_view> foreign[] = {
      {spec.latent.exists(), "has latent attention"},
      {spec.positions == PositionKind::kDistance, "has positions by distance and a memory of the segment before"},
      {!spec.norm_weight, "has norms without weights"},
      {spec.score_cap > 0, "caps attention scores"},
      {spec.logit_cap > 0, "caps logits"},
      {spec.sinks, "has attention sinks"},
      {spec.wide_qk_norm && spec.kv_heads != spec.heads, "has norms over all query heads and over fewer key heads"},
      {experts.shared_width > 0, "has an expert that every token passes through"},
      {experts.router_bias, "has routers with biases"},
      {experts.count > 0 && experts.plain_gates, "has gates of experts that do not sum to 1"},
      {experts.sigmoid_scores, "has routers that score by a sigmoid"}};
  for (const auto& [has, what] : foreign) {
    if (has) return what;
  }
  return {};
}

}  // namespace plimsoll
