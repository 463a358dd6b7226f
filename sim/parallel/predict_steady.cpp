#include <algorithm>

#include "sim/parallel/predict_parallel.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kWarmTurns = 4;  ///< times the pipeline's length that a step has at least to be warm

constexpr double RankSeconds::*kSeconds[] = {
    &RankSeconds::forward,        &RankSeconds::backward,    &RankSeconds::tensor_sends,
    &RankSeconds::expert_sends,   &RankSeconds::shard_sends, &RankSeconds::bubble,
    &RankSeconds::gradient_sends, &RankSeconds::optimizer,   &RankSeconds::wait};

bool holds_all(const std::string& schedule) { return schedule == "gpipe" || schedule == "looped-bfs"; }

double onwards(double first, double second, double turns) { return first + (second - first) * turns; }

Result<ParallelAnswer> with_micro_batches(ParallelQuestion question, const StagePieces& pieces, std::int64_t count) {
  question.layout.global_batch = count * question.layout.data_ranks * question.layout.micro_batch;
  return predict_with(question, pieces);
}

/// `first` with what `turns` times the difference to `second` adds.
void extend(ParallelAnswer& first, const ParallelAnswer& second, double turns) {
  const double one = first.step_seconds, two = second.step_seconds;
  first.step_seconds = onwards(one, two, turns);
  first.step_low *= first.step_seconds / one;
  first.step_high *= first.step_seconds / one;
  first.model_flops = onwards(first.model_flops, second.model_flops, turns);
  first.hardware_flops = onwards(first.hardware_flops, second.hardware_flops, turns);
  for (std::size_t rank = 0; rank < first.ranks.size(); ++rank) {
    for (const auto part : kSeconds)
      first.ranks[rank].seconds.*part =
          onwards(first.ranks[rank].seconds.*part, second.ranks[rank].seconds.*part, turns);
  }
}

}  // namespace

Result<ParallelAnswer> predict_steady(const ParallelQuestion& question, const StagePieces& pieces) {
  const ParallelLayout& layout = question.layout;
  const std::int64_t count = layout.micro_batches(), stages = layout.stages;
  const std::int64_t few = count % stages + kWarmTurns * stages;
  if (count <= few + stages || holds_all(layout.schedule)) return predict_with(question, pieces);
  auto first = with_micro_batches(question, pieces, few);
  if (!first) return first;
  const auto second = with_micro_batches(question, pieces, few + stages);
  if (!second) return second;
  const double turns = static_cast<double>(count - few) / static_cast<double>(stages);
  const double idle =
      onwards(first->bubble_fraction * first->step_seconds, second->bubble_fraction * second->step_seconds, turns);
  extend(*first, *second, turns);
  first->layout = layout;
  first->bubble_fraction = idle / first->step_seconds;
  const auto samples = static_cast<double>(layout.global_batch);
  first->samples_per_second = samples / first->step_seconds;
  first->tokens_per_second = first->samples_per_second * static_cast<double>(question.recipe.sequence);
  return first;
}

}  // namespace plimsoll
