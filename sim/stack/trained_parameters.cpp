#include "sim/stack/trained_parameters.h"

#include "sim/stack/modules/stack_model.h"

namespace plimsoll {

std::int64_t trained_parameters(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  Tape tape;
  const ModuleRules rules = module_rules(spec, recipe, setup, gpu);
  const auto model = make_stack_model(tape, spec, recipe, setup, rules, compute_dtype(recipe.precision));
  std::int64_t count = 0;
  for (const Parameter& parameter : tape.parameters()) count += parameter.trained ? parameter.value.elements() : 0;
  return count;
}

}  // namespace plimsoll
