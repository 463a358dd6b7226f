#include "executor/cuda/launch/update_places.h"

#include "executor/kernels/update_operands.h"

namespace plimsoll::cuda {

UpdatePlaces update_places(std::span<const OperandView> operands, std::size_t states, bool has_workspace) {
  const bool in_place = operands[0].access == Access::kReadWrite;
  std::size_t next = states + 2;
  UpdatePlaces at{.gradient = operands[states + 1].data, .weights = operands[0].data};
  if (next < operands.size() && operands[next].access == Access::kRead) at.factor = operands[next++].data;
  const std::size_t first_new = in_place ? 0 : next;
  if (!in_place) next += states + 1;
  at.new_weights = operands[first_new].data;
  for (std::size_t i = 0; i < states; ++i) {
    at.states[i] = operands[1 + i].data;
    at.new_states[i] = operands[first_new + 1 + i].data;
  }
  if (has_workspace) at.workspace = operands.back().data;
  if (next + (has_workspace ? 1 : 0) < operands.size()) at.published = operands[next].data;
  return at;
}

UpdateStep<float> update_numbers(const LaunchContext& context) { return kernels::update_step<float>(context, 1); }

CorrectionNumbers correction_numbers(const LaunchContext& context) {
  const Recipe& recipe = *context.recipe;
  return {.rate = learning_rate_at(recipe, context.step), .beta1 = recipe.beta1, .beta2 = recipe.beta2};
}

}  // namespace plimsoll::cuda
