#include "sim/stack/training_steps.h"

#include "sim/stack/modules/transformer.h"
#include "sim/stack/optimizer_step.h"

namespace plimsoll {
namespace {

/// The type of the parameters: pure two-byte training keeps them in it, autocast in fp32 unless they are frozen.
DType weight_type(const Recipe& recipe) {
  if (recipe.adapter.exists()) return compute_dtype(recipe.precision);
  if (recipe.precision == Precision::kBf16) return DType::kBf16;
  return recipe.precision == Precision::kFp64 ? DType::kFp64 : DType::kFp32;
}

std::optional<DType> autocast_type(Precision precision) {
  if (precision == Precision::kFp16Mixed) return DType::kFp16;
  if (precision == Precision::kBf16Mixed) return DType::kBf16;
  return std::nullopt;
}

void backward_pass(Tape& tape, Tensor loss, bool scaled) {
  tape.phase(Phase::kBackward);
  tape.at("loss");
  const Tensor root = scaled ? scale(tape, loss) : loss;
  loss = {};
  tape.backward(root, tape.empty({1}, DType::kFp32));
}

}  // namespace

StepMarks run_training_steps(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const ModuleRules& rules) {
  StepMarks marks;
  tape.at("model");
  Transformer model(tape, spec, recipe, setup, rules, weight_type(recipe));
  marks.model = tape.log().events().size();
  Tensor logits;  // of the step before, as long as the loop holds them
  for (std::int64_t step = 1; step <= kSimulatedSteps; ++step) {
    tape.step(step);
    tape.forget_kernels();
    for (std::int64_t i = 0; i < recipe.accumulate; ++i) {
      auto made = model.loss(autocast_type(recipe.precision));
      logits = std::move(made.logits);
      backward_pass(tape, std::move(made.loss), scales_loss(recipe.precision) || recipe.accumulate > 1);
    }
    tape.phase(Phase::kOptimizer);
    tape.at("optimizer");
    if (recipe.clip > 0) clip_gradients(tape);
    optimizer_step(tape, recipe, setup.loop);
    clear_gradients(tape);
    if (step == 1) marks.first_step = tape.log().events().size();
  }
  return marks;
}

}  // namespace plimsoll
