#include "sim/answers/stack_question.h"

#include "sim/stack/setup_on.h"
#include "sim/stack/stack_answer.h"

namespace plimsoll {

Result<FitAnswer> answer_for_stack(const Question& question, StackDetail detail) {
  if (!question.machine) {
    return fail({.kind = ErrorKind::kInput, .what = "another stack is foretold on a GPU of the catalogue", .where = "--stack",
                 .remedy = "name one with --on"});
  }
  const StackSetup setup = setup_on(*question.stack, question.machine->options);
  const GpuEntry gpu = gpu_in(question.machine->gpu, question.machine->options);
  const auto prediction = predict_stack(question.spec, question.recipe, setup, gpu, detail);
  if (!prediction) return fail(prediction.error());
  FitAnswer answer = stack_answer(question.spec, question.recipe, setup, gpu, *prediction);
  answer.assumed = prediction->assumptions;
  return answer;
}

bool could_be_ours(const Question& question) {
  const StackSetup& setup = *question.stack;
  const bool lora = !question.recipe.adapter.exists() || setup.adapter.method == AdapterMethod::kLora;
  return gpus_of(setup) == 1 && lora && !setup.preference.exists() && !question.platform.spaces.empty();
}

}  // namespace plimsoll
