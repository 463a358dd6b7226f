#include "sim/stack/training_steps.h"

#include <algorithm>

#include "sim/stack/modules/stack_model.h"
#include "sim/stack/optimizer_step.h"
#include "sim/stack/sharing/state_sharing.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {
namespace {

/// The type of the parameters: pure two-byte training keeps them in it, autocast in fp32 unless they are frozen.
DType weight_type(const Recipe& recipe, const StackSetup& setup) {
  if (recipe.precision == Precision::kFp64) return DType::kFp64;
  const bool half = (recipe.adapter.exists() && !setup.wide_base) || recipe.precision == Precision::kBf16 || has_half_weights(recipe, setup);
  return half ? compute_dtype(recipe.precision) : DType::kFp32;
}

std::optional<DType> autocast_type(const Recipe& recipe, const StackSetup& setup) {
  const DType narrow = compute_dtype(recipe.precision);
  if (size_of(narrow) != 2) return std::nullopt;
  const bool in_two_bytes = recipe.precision == Precision::kBf16 || has_half_weights(recipe, setup);
  return in_two_bytes && !autocasts(setup, recipe.precision) ? std::nullopt : std::optional(narrow);
}

void backward_pass(Tape& tape, Tensor loss, bool scaled) {
  tape.phase(Phase::kBackward);
  tape.at("loss");
  const Tensor root = scaled ? scale(tape, loss) : loss;
  loss = {};
  tape.backward(root, tape.empty({1}, DType::kFp32));
}

/// Sequences of micro-batches as a data set's come: drawn until the allocator has met many, then a step of the longest, which is the
/// one that is timed.
class DrawnSequence {
 public:
  DrawnSequence(const Recipe& recipe, const StackSetup& setup)
      : recipe(recipe), longest_(recipe.sequence), varies_(setup.lengths.vary()), draws_(setup.lengths, recipe.micro_batch, recipe.sequence) {}

  [[nodiscard]] std::int64_t steps() const {
    if (!varies_) return kSimulatedSteps;
    return steps_of_drawn_lengths(recipe) + 1;
  }
  void draw(std::int64_t step) {
    if (varies_) recipe.sequence = step == steps() ? longest_ : draws_.next();
  }

  Recipe recipe;

 private:
  std::int64_t longest_;
  bool varies_;
  LengthDraws draws_;
};

/// What comes before a step's micro-batches: answers are written to all of their prompts at once, and scored. How long writing takes is not told.
void prepare_step(Tape& tape, StackModel& model, Recipe& recipe, const StackSetup& setup) {
  const PreferenceSetup& preference = setup.preference;
  if (!preference.exists()) return;
  tape.phase(Phase::kForward);
  if (preference.writes() && preference.rollout == Rollout::kTransformers) {
    const Recipe whole = recipe;
    recipe.micro_batch *= recipe.accumulate;
    recipe.sequence = preference.prompt;
    model.write(autocast_type(whole, setup), whole.sequence - preference.prompt);
    recipe = whole;
    tape.forget_kernels();
  }
  model.prepare(autocast_type(recipe, setup), recipe.accumulate);
}

StepMarks train(Tape& tape, const StackModelMaker& make, DrawnSequence& drawn, const StackSetup& setup) {
  const Recipe& recipe = drawn.recipe;
  StepMarks marks;
  tape.at("model");
  tape.without_memory(shares_parameters(setup));
  const auto model = make(tape, weight_type(recipe, setup));
  const auto states = share_states(tape, recipe, setup);
  marks.host = states->host();
  marks.drive = states->drive();
  marks.model = tape.log().events().size();
  if (setup.update_in_backward) update_in_backward(tape, recipe, setup.loop);
  Tensor logits;  // of the step before, as long as the loop holds them
  const std::int64_t steps = drawn.steps();
  for (std::int64_t step = 1; step <= steps; ++step) {
    tape.step(step);
    marks.steady = tape.log().events().size();
    tape.forget_kernels();
    prepare_step(tape, *model, drawn.recipe, setup);
    for (std::int64_t i = 0; i < recipe.accumulate; ++i) {
      drawn.draw(step);
      tape.phase(Phase::kForward);
      states->begin(i + 1 == recipe.accumulate);
      auto made = model->loss(autocast_type(recipe, setup));
      logits = std::move(made.logits);
      states->begin_backward();
      backward_pass(tape, std::move(made.loss), scales_loss(recipe.precision) || recipe.accumulate > 1);
      states->end();
    }
    tape.phase(Phase::kOptimizer);
    tape.at("optimizer");
    states->update(recipe, setup.loop);
    marks.last_step = tape.log().events().size();
    if (step == 1) marks.first_step = marks.last_step;
  }
  marks.paged = paged_states(tape);
  return marks;
}

}  // namespace

std::int64_t steps_of_drawn_lengths(const Recipe& recipe) {
  return std::max(kSimulatedSteps, (kVaryingMicroBatches + recipe.accumulate - 1) / recipe.accumulate);
}

StepMarks run_training_steps(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const ModuleRules& rules) {
  DrawnSequence drawn(recipe, setup);
  // The model reads the recipe again in every forward pass.
  return train(tape, [&](Tape& t, DType weights) { return make_stack_model(t, spec, drawn.recipe, setup, rules, weights); }, drawn, setup);
}

StepMarks run_training_steps(Tape& tape, const StackModelMaker& make, const Recipe& recipe, const StackSetup& setup) {
  DrawnSequence drawn(recipe, setup);
  return train(tape, make, drawn, setup);
}

}  // namespace plimsoll
