#include "core/graph/graph.h"

#include <array>
#include <utility>

namespace plimsoll {

std::string_view to_text(TensorKind kind) {
  static constexpr std::array<std::pair<TensorKind, std::string_view>, 11> kNames{{
      {TensorKind::kTokens, "tokens"},
      {TensorKind::kParameter, "parameters"},
      {TensorKind::kGradient, "gradients"},
      {TensorKind::kAccumulator, "accumulators"},
      {TensorKind::kMaster, "master_weights"},
      {TensorKind::kFirstMoment, "first_moments"},
      {TensorKind::kSecondMoment, "second_moments"},
      {TensorKind::kActivation, "activations"},
      {TensorKind::kActivationGradient, "activation_gradients"},
      {TensorKind::kWorkspace, "workspace"},
      {TensorKind::kScalar, "scalars"},
  }};
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "?";
}

}  // namespace plimsoll
