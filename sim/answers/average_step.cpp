#include "sim/answers/average_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace plimsoll {
namespace {

constexpr std::size_t kDrawn = 256;  // micro-batches
constexpr std::size_t kParts = 4;    // of those drawn, from the shortest to the longest

/// Tokens of micro-batches, shortest first. GPUs that share a batch wait for the one with the longest.
std::vector<std::int64_t> drawn_lengths(const StackSetup& setup, const Recipe& recipe) {
  LengthDraws draws(setup.lengths, recipe.micro_batch * setup.data_ranks, recipe.sequence);
  std::vector<std::int64_t> drawn(kDrawn);
  for (std::int64_t& length : drawn) length = draws.next();
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

Question with_length(Question question, std::int64_t tokens) {
  question.recipe.sequence = tokens;
  question.stack->lengths = {};
  return question;
}

/// Adds `share` of the times of one answer to another's.
void add_times(FitAnswer& mean, const FitAnswer& one, double share) {
  mean.step_seconds += share * one.step_seconds;
  mean.step_seconds_low += share * one.step_seconds_low;
  mean.step_seconds_high += share * one.step_seconds_high;
  mean.phases.forward_seconds += share * one.phases.forward_seconds;
  mean.phases.backward_seconds += share * one.phases.backward_seconds;
  mean.phases.optimizer_seconds += share * one.phases.optimizer_seconds;
  mean.phases.exposed_transfer_seconds += share * one.phases.exposed_transfer_seconds;
  mean.phases.exposed_communication_seconds += share * one.phases.exposed_communication_seconds;
}

/// The answer with the mean times of steps whose micro-batches are as long as those drawn.
Result<FitAnswer> of_drawn_lengths(const Question& question, const FitAnswer& longest, const std::vector<std::int64_t>& drawn) {
  FitAnswer mean = longest;
  mean.step_seconds = mean.step_seconds_low = mean.step_seconds_high = 0;
  mean.phases = {};
  for (std::size_t part = 0; part < kParts; ++part) {
    const auto first = drawn.begin() + static_cast<std::ptrdiff_t>(part * kDrawn / kParts), last = first + kDrawn / kParts;
    const std::int64_t tokens = std::accumulate(first, last, std::int64_t{0}) / static_cast<std::int64_t>(kDrawn / kParts);
    const auto one = answer_question(with_length(question, tokens), {.alternatives = false});
    if (!one) return one;
    add_times(mean, *one, 1.0 / kParts);
  }
  mean.samples_per_second = longest.samples_per_second * longest.step_seconds / mean.step_seconds;
  return mean;
}

Result<TrainingAnswer> bill_padded(const Question& question, const FitAnswer& answer, const TrainingLength& length, const BillTerms& terms) {
  const std::vector<std::int64_t> drawn = drawn_lengths(*question.stack, question.recipe);
  const auto mean = of_drawn_lengths(question, answer, drawn);
  if (!mean) return fail(mean.error());
  TrainingAnswer bill = bill_training(question, *mean, length, terms);
  const double padded = static_cast<double>(std::accumulate(drawn.begin(), drawn.end(), std::int64_t{0})) / kDrawn;
  bill.assumed.push_back(fmt::format("a sample has {:.0f} tokens on average, and a micro-batch is padded to {:.0f}: such steps take {} on average",
                                     tokens_of_sample(question).each, padded, to_text(from_seconds(mean->step_seconds))));
  return bill;
}

TrainingAnswer bill_packed(const Question& question, FitAnswer answer, const TrainingLength& length, const BillTerms& terms) {
  const double each = tokens_of_sample(question).each, filled = static_cast<double>(question.recipe.sequence) / each;
  answer.samples_per_second *= filled;
  TrainingAnswer bill = bill_training(question, answer, length, terms);
  bill.assumed.push_back(fmt::format("a sample has {:.0f} tokens on average, and {:.1f} of them fill a packed sequence", each, filled));
  return bill;
}

}  // namespace

SampleTokens tokens_of_sample(const Question& question) {
  if (reads_pictures(question.spec)) return {};
  const auto longest = static_cast<double>(question.recipe.sequence);
  if (!question.stack) return {.each = longest};
  const StackSetup& setup = *question.stack;
  if (setup.mean_document > 0) return {.each = std::min(setup.mean_document, longest), .stated = true};
  if (setup.lengths.vary()) return {.each = mean_length(setup.lengths, question.recipe.sequence), .stated = true};
  return {.each = longest * static_cast<double>(sequences_a_sample(question))};
}

Result<TrainingAnswer> bill_average(const Question& question, const FitAnswer& answer, const TrainingLength& length, const BillTerms& terms) {
  if (!tokens_of_sample(question).stated) return bill_training(question, answer, length, terms);
  if (question.stack->lengths.vary()) return bill_padded(question, answer, length, terms);
  return bill_packed(question, answer, length, terms);
}

}  // namespace plimsoll
