#include "sim/answers/layout_bill.h"

namespace plimsoll {
namespace {

/// The share of a step in which a GPU computes, over all ranks of the pipeline.
double computing_share(const ParallelAnswer& answer) {
  double computing = 0;
  for (const RankAnswer& rank : answer.ranks) computing += rank.seconds.forward + rank.seconds.backward + rank.seconds.optimizer;
  return computing / static_cast<double>(answer.ranks.size()) / answer.step_seconds;
}

/// The step as bills read one; its phases are those of the rank that works longest, what is left of it is waiting.
FitAnswer as_fit_answer(const ParallelAnswer& answer) {
  const RankSeconds& longest = answer.ranks[answer.last].seconds;
  FitAnswer told{.fits = answer.fits(), .step_seconds = answer.step_seconds, .step_seconds_low = answer.step_low,
                 .step_seconds_high = answer.step_high};
  told.samples_per_second = answer.samples_per_second;
  told.tokens_per_second = answer.tokens_per_second;
  told.phases = {.forward_seconds = longest.forward, .backward_seconds = longest.backward, .optimizer_seconds = longest.optimizer};
  told.phases.exposed_communication_seconds =
      longest.tensor_sends + longest.expert_sends + longest.shard_sends + longest.gradient_sends;
  told.loads = {{"compute", computing_share(answer)}};
  told.bottleneck = answer.limit;
  told.gpus = answer.layout.gpus();
  return told;
}

/// Who has which part of the states, in the words of other programs.
StackSetup as_setup(const ParallelLayout& layout) {
  return {.stack = Stack::kMegatron, .data_ranks = layout.data_ranks, .zero = layout.zero, .tensor_ranks = layout.tensor_ranks,
          .stages = layout.stages, .context_ranks = layout.context_ranks};
}

}  // namespace

Result<TrainingAnswer> bill_layout(const ParallelQuestion& question, const ParallelAnswer& answer, const MachineOptions& host,
                                   const TrainingLength& length, const BillTerms& terms) {
  auto asked = on_machine({.spec = question.spec, .recipe = question.recipe, .stack = as_setup(answer.layout)},
                          {question.cluster.gpu, host});
  if (!asked) return fail(asked.error());
  return bill_training(*asked, as_fit_answer(answer), length, terms);
}

}  // namespace plimsoll
