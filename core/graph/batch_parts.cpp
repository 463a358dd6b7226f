#include "core/graph/batch_parts.h"

namespace plimsoll {

std::vector<BatchPart> batch_parts(const ModelSpec& spec, const Recipe& recipe) {
  std::vector<BatchPart> parts;
  const std::int64_t sequences = recipe.micro_batch;
  if (spec.reads_images()) {
    parts.push_back({BatchPartKind::kPatches, compute_dtype(recipe.precision),
                     sequences * spec.image.patches() * spec.image.patch_width()});
  } else {
    parts.push_back({BatchPartKind::kTokens, DType::kInt32, sequences * (recipe.sequence + 1)});
  }
  if (spec.has_encoder_and_decoder()) {
    parts.push_back({BatchPartKind::kTargets, DType::kInt32, sequences * (target_tokens(recipe) + 1)});
  }
  if (spec.pads()) parts.push_back({BatchPartKind::kExtents, DType::kInt32, 2 * sequences});
  if (spec.head == HeadKind::kMaskedToken) parts.push_back({BatchPartKind::kLabels, DType::kInt32, sequences * recipe.sequence});
  if (spec.head == HeadKind::kClass) parts.push_back({BatchPartKind::kLabels, DType::kInt32, sequences});
  return parts;
}

std::string_view to_text(BatchPartKind kind) {
  switch (kind) {
    case BatchPartKind::kTokens: return "tokens";
    case BatchPartKind::kExtents: return "extents";
    case BatchPartKind::kLabels: return "labels";
    case BatchPartKind::kTargets:
      return "targets";
    case BatchPartKind::kPatches: return "patches";
  }
  return "?";
}

}  // namespace plimsoll
