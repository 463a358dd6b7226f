#include <cmath>
#include <limits>

#include "executor/kernels/kernels.h"

namespace plimsoll::kernels {
namespace {

double share_of(double norm, double clip) { return clip > 0 ? clip / std::max(norm, clip) : 1; }

/// The factor unscales too. Gradients that are not finite make it NaN, and the scale follows.
void scaled_factor(const OpShape& s, double squares, Operands operands, const Recipe& recipe) {
  auto* result = array<double>(operands, 1);
  auto* scale = array<LossScale>(operands, 2);
  const bool finite = std::isfinite(squares);
  const double guess = scale->factor, norm = std::sqrt(squares) * guess;
  result[0] = finite ? share_of(norm, recipe.clip) * guess : std::numeric_limits<double>::quiet_NaN();
  result[1] = norm;
  result[2] = scale->updates;
  result[3] = scale->scale;
  if (operands.size() > 3) {
    const bool updates = s.variant == static_cast<std::uint8_t>(ClipFlag::kUpdate);
    *array<double>(operands, 3) = (updates ? finite : result[0] != guess) ? 1 : 0;
  }
  *scale = next_loss_scale(recipe.loss_scaling, *scale, finite);
}

}  // namespace

/// factor = clip / max(norm, clip); 1 without clipping. The flag, where there is one, says whether it is not 1.
void clip_factor(const OpShape& s, Operands operands, const LaunchContext& context) {
  const double* partial = array<const double>(operands, 0);
  double* result = array<double>(operands, 1);
  double sum = 0;
  for (std::int64_t i = 0; i < s.terms; ++i) sum += partial[i];
  if (operands.size() > 2 && operands[2].access == Access::kReadWrite) {
    return scaled_factor(s, sum, operands, *context.recipe);
  }
  const double norm = std::sqrt(sum);
  result[0] = share_of(norm, context.recipe->clip);
  result[1] = norm;
  if (operands.size() > 2) *array<double>(operands, 2) = result[0] == 1 ? 0 : 1;
}

}  // namespace plimsoll::kernels
