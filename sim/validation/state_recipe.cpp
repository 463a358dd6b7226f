#include <fmt/format.h>

#include <algorithm>

#include "sim/validation/state_row.h"

namespace plimsoll {
namespace {

void take_precision(RowFacts& facts, Recipe& recipe) {
  const std::string_view written = facts.row().field("precision");
  // Products in 8 bits take other times; what they leave for backward is as wide as before where a program converts it again.
  const std::string_view measure = facts.fact("measure");
  const bool as_wide = facts.is_true("keeps_wide") && (measure == "allocated" || measure == "reserved");
  if (facts.is_true("narrow_products") && !as_wide) return facts.refuse("precision not modelled", "8 bits or fewer");
  if (facts.fact("precision").empty()) {
    return facts.refuse(written.empty() ? "precision not stated" : "unknown precision", written);
  }
  const auto precision = parse_precision(facts.fact("precision"));
  if (!precision) return facts.refuse("unknown precision", precision.error().what);
  recipe.precision = *precision;
}

void take_optimizer(RowFacts& facts, Recipe& recipe) {
  const std::string_view written = facts.row().field("optimizer");
  if (facts.fact("optimizer").empty()) {
    if (!written.empty()) return facts.refuse("unknown optimizer", written);
    return facts.leave_open("optimizer");
  }
  const auto kind = parse_optimizer(facts.fact("optimizer"));
  if (!kind) return facts.refuse("unknown optimizer", facts.fact("optimizer"));
  recipe = with_optimizer(recipe, *kind);
}

std::int64_t sequence_of(RowFacts& facts, const ModelSpec& spec) {
  if (spec.reads_images()) return spec.max_positions;
  const auto own = facts.whole_fact("true_sequence");
  const auto sequence = own ? own : facts.whole("seq", "sequence");
  if (!sequence) facts.refuse("sequence not stated", "");
  return sequence.value_or(1);
}

/// Of a source that tells the best of several micro-batches, a step's sequences are counted one by one.
void take_best_batch(RowFacts& facts, Recipe& recipe, const StackSetup& setup) {
  facts.leave_open("which micro-batch was best");
  const auto sequences = facts.fact("batch_is") == "step" ? facts.whole("batch", "global_batch") : std::nullopt;
  recipe.micro_batch = 1;
  recipe.accumulate = std::max<std::int64_t>(1, sequences.value_or(1) / setup.data_ranks);
}

/// The batch of an offload row is per GPU, that of the other tables is told apart by its column.
void take_batches(RowFacts& facts, Recipe& recipe, const StackSetup& setup) {
  const bool of_step = facts.fact("batch_is") == "step";  // an offload row's only column is that of a whole step
  const bool one_column = facts.row().table == PublishedTable::kOffload && !of_step;
  if (facts.fact("micro_batch") == "best") return take_best_batch(facts, recipe, setup);
  const auto micro = facts.whole(one_column ? "batch" : "micro_batch", "micro_batch");
  const auto global = facts.whole(of_step ? "batch" : "global_batch", "global_batch");
  const auto accumulate = facts.whole_fact("accumulate");
  const std::int64_t ranks = setup.data_ranks;
  if (!micro && !global) return facts.refuse("micro-batch not stated", "");
  recipe.micro_batch = micro ? *micro : *global / (ranks * accumulate.value_or(1));
  if (!micro && !accumulate) facts.leave_open("micro-batch");
  const std::string batches = fmt::format("{} sequences on {} ranks", global.value_or(0), ranks);
  if (recipe.micro_batch < 1) return facts.refuse("contradictory batches", batches);
  recipe.accumulate = accumulate ? *accumulate : global ? *global / (ranks * recipe.micro_batch) : 1;
  if (recipe.accumulate < 1) return facts.refuse("contradictory batches", batches);
  if (!accumulate && !global) facts.leave_open("gradient accumulation");
}

void take_adapter(RowFacts& facts, Recipe& recipe, const ModelSpec& spec) {
  const auto rank = facts.whole_fact("lora_rank");
  if (!rank) return;
  recipe.adapter.rank = *rank;
  recipe.adapter.alpha = 2.0 * static_cast<double>(*rank);  // a factor of the product: no byte depends on it
  if (facts.fact("lora_targets").empty()) facts.leave_open("matrices with adapters");
  const auto targets = parse_adapter_targets(facts.fact("lora_targets").empty() ? "all" : facts.fact("lora_targets"), spec);
  if (!targets) return facts.refuse("adapters that the model has not", targets.error().what);
  recipe.adapter.targets = *targets;
  const auto bits = facts.whole_fact("base_bits").value_or(16);
  recipe.adapter.base = bits == 4 ? BaseStorage::kNf4 : bits == 8 ? BaseStorage::kInt8 : BaseStorage::kCompute;
}

}  // namespace

Recipe state_recipe(RowFacts& facts, const ModelSpec& spec, const StackSetup& setup) {
  Recipe recipe;
  if (facts.is_refused()) return recipe;
  take_optimizer(facts, recipe);
  take_precision(facts, recipe);
  recipe.sequence = sequence_of(facts, spec);
  take_batches(facts, recipe, setup);
  take_adapter(facts, recipe, spec);
  recipe.clip = facts.number_fact("clip").value_or(recipe.clip);
  if (facts.is_refused()) return recipe;
  if (const auto sound = validate(recipe, spec); !sound) facts.refuse("contradictory recipe", sound.error().what);
  return recipe;
}

}  // namespace plimsoll
