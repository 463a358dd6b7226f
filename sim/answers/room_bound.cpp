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

namespace {

/// What lasts of the groups that are trained, in mixed precision, and their gradients.
struct Trained {
  Bytes weights, states, gradients;
  Bytes staged;                ///< states and gradients of the largest group outside the blocks
  double gradient_share = 0;   ///< at most, of a group's bytes where all of them are on the device
};

Trained trained(const ModelSpec& spec, const Recipe& recipe) {
  Trained sum;
  for (const ParameterGroup& group : lay_out_parameters(spec, recipe.adapter).groups) {
    const Bytes weights = bytes_of_state(recipe, group, TensorKind::kParameter);
    const Bytes gradients(group.elements * size_of(compute_dtype(recipe.precision)));
    Bytes states = bytes_of_state(recipe, group, TensorKind::kMaster);
    for (const OptimizerState& state : optimizer_states(recipe, group)) states += state.bytes();
    sum.weights += weights;
    sum.states += states;
    sum.gradients += gradients;
    if (group.block < 0) sum.staged = std::max(sum.staged, states + gradients);
    const double share = static_cast<double>(gradients.count) / static_cast<double>((weights + states + gradients).count);
    sum.gradient_share = std::max(sum.gradient_share, share);
  }
  return sum;
}

bool has_three_memories(const Platform& platform) {
  return platform.spaces.size() == 3 && platform.space(SpaceKind::kDevice) && platform.space(SpaceKind::kHost) &&
         platform.space(SpaceKind::kSsd) && !platform.link_to_ranks();
}

}  // namespace

/// Each line refuses a choice that would need no staging; the last one what is left.
bool too_much_to_stage(const Question& question) {
  const Recipe& recipe = question.recipe;
  const Platform& platform = question.platform;
  const bool applies = has_three_memories(platform) && has_master_copy(recipe.precision) && awaits_norm(recipe) &&
                       !recipe.adapter.exists() && recipe.delay == 0;
  if (!applies) return false;
  const auto usable = [&](SpaceKind kind) { return platform.at(*platform.space(kind)).usable; };
  const Bytes device = usable(SpaceKind::kDevice), host = usable(SpaceKind::kHost), all = device + host + usable(SpaceKind::kSsd);
  const Trained of = trained(question.spec, recipe);
  if (of.weights + of.states + of.states <= all) return false;  // updates during backward keep two versions
  if (of.states <= device + host) return false;                 // no states on the drive
  if (of.gradients <= device) return false;                     // gradients wait on the device
  const Bytes with_states_on_device(static_cast<std::int64_t>(of.gradient_share * static_cast<double>(device.count)) + 1);
  if (of.gradients - with_states_on_device <= host) return false;  // gradients wait on the host
  return least_bytes(question.spec, recipe) + of.staged > all;
}

Bytes beyond_all_memory(const Question& question) {
  Bytes usable;
  for (const MemorySpace& space : question.platform.spaces) usable += space.usable;
  return std::max(Bytes(0), least_bytes(question.spec, question.recipe) - usable);
}

}  // namespace plimsoll
