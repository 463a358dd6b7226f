#include "sim/stack/modules/stack_model.h"

#include "sim/stack/modules/conv_model.h"
#include "sim/stack/modules/encoder_decoder.h"
#include "sim/stack/modules/memory_transformer.h"
#include "sim/stack/modules/preference_model.h"
#include "sim/stack/modules/transformer.h"

namespace plimsoll {

std::unique_ptr<StackModel> make_stack_model(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup,
                                             const ModuleRules& rules, DType weights) {
  if (spec.is_conv_net()) {
    return std::make_unique<ConvModel>(tape, spec, recipe.micro_batch, rules.dropout, setup.compression, weights);
  }
  if (spec.has_encoder_and_decoder()) return std::make_unique<EncoderDecoder>(tape, spec, recipe, setup, rules, weights);
  if (spec.positions == PositionKind::kDistance) return std::make_unique<MemoryTransformer>(tape, spec, recipe, setup, rules, weights);
  auto model = std::make_unique<Transformer>(tape, spec, recipe, setup, rules, weights);
  if (!setup.preference.exists()) return model;
  const ReferencePass reference = reference_of(setup.preference, recipe.adapter.exists());
  std::unique_ptr<StackModel> copy;
  if (reference == ReferencePass::kCopy) copy = std::make_unique<Transformer>(tape, spec, recipe, setup, rules, weights, "reference ");
  return std::make_unique<PreferenceModel>(tape, setup.preference.method, reference, std::move(model), std::move(copy));
}

}  // namespace plimsoll
