#include "core/graph/saved_state.h"

#include "core/graph/optimizer_state.h"
#include "core/model/parameters.h"

namespace plimsoll {

Bytes saved_state_bytes(const ModelSpec& spec, const Recipe& recipe) {
  Bytes bytes;
  for (const ParameterGroup& group : lay_out_parameters(spec, recipe.adapter).groups) {
    if (group.frozen) continue;
    bytes += Bytes(group.elements * size_of(state_dtype(recipe.precision)));
    for (const OptimizerState& state : optimizer_states(recipe, group)) bytes += state.bytes();
  }
  return bytes;
}

}  // namespace plimsoll
