#include "core/graph/graph.h"

#include <array>
#include <utility>

namespace plimsoll {

Bytes bytes_moved(const Graph& graph, const Op& op) {
  Bytes sum;
  for (const Operand& operand : op.operands) {
    const int times = operand.access == Access::kReadWrite ? 2 : 1;
    sum += graph.at(operand.tensor).bytes() * times;
  }
  return sum;
}

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
