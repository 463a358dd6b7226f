#include "sim/answers/room_bound.h"

#include <algorithm>

#include "core/graph/optimizer_state.h"

namespace plimsoll {

Bytes least_bytes(const ModelSpec& spec, const Recipe& recipe) {
  const bool waits = awaits_norm(recipe);
  const bool mixed = has_master_copy(recipe.precision);
  Bytes least;
  for (const ParameterGroup& group : lay_out_parameters(spec, recipe.adapter).groups) {
    const Bytes weights = bytes_of_state(recipe, group, TensorKind::kParameter);
    least += weights;
    if (group.frozen) continue;
    Bytes updated = mixed ? bytes_of_state(recipe, group, TensorKind::kMaster) : weights;
    for (const OptimizerState& state : optimizer_states(recipe, group)) updated += state.bytes();
    least += mixed ? updated : updated - weights;
    const Bytes gradients(group.elements * size_of(compute_dtype(recipe.precision)));
    if (waits) least += std::min(gradients, updated);
  }
  return least;
}

Bytes beyond_all_memory(const Question& question) {
  Bytes usable;
  for (const MemorySpace& space : question.platform.spaces) usable += space.usable;
  return std::max(Bytes(0), least_bytes(question.spec, question.recipe) - usable);
}

}  // namespace plimsoll
