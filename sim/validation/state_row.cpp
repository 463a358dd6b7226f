#include "sim/validation/state_row.h"

#include <iterator>

#include "formats/published/embedded_published.h"
#include "sim/stack/check_kernels.h"

namespace plimsoll {
namespace {

/// In the order in which they are applied: what a system is says most, a note says the particular.
constexpr std::string_view kTables[] = {"data/published/systems.csv", "data/published/models.csv",
                                        "data/published/spellings.csv", "data/published/notes.csv"};

bool is_unmodelled_table(PublishedTable table) {
  return table == PublishedTable::kOffload || table == PublishedTable::kParallel || table == PublishedTable::kOperators ||
         table == PublishedTable::kInference;
}

/// PyTorch's fused attention is its other kernel where FlashAttention 2 has none.
void take_kernel_of(const GpuEntry& gpu, StackSetup& setup) {
  if (setup.attention == AttentionKernel::kFlash && !has_flash_attention(gpu)) setup.attention = AttentionKernel::kEfficient;
}

}  // namespace

std::int64_t stated_gpus(const StackSetup& setup) { return setup.data_ranks * setup.tensor_ranks * setup.stages * setup.context_ranks; }

Result<RowLexicon> shipped_lexicon() {
  RowLexicon lexicon{.rules = {}, .zoo = built_in_zoo(), .gpus = built_in_gpu_catalogue()};
  for (const std::string_view name : kTables) {
    auto rules = read_reading_rules(embedded_published(name), std::string(name), row_fact_keys());
    if (!rules) return fail(rules.error());
    std::move(rules->begin(), rules->end(), std::back_inserter(lexicon.rules));
  }
  return lexicon;
}

StatedRow state_row(const PublishedRow& row, const RowLexicon& lexicon) {
  RowFacts facts(row, apply_rules(lexicon.rules, row));
  if (facts.fact("family") == "reported") facts.take_notes();
  StatedRow stated;
  stated.family = facts.fact("family").empty() ? std::string(row.field("system")) : std::string(facts.fact("family"));
  if (is_unmodelled_table(row.table) && facts.fact("measure").empty()) facts.refuse("no such measure", row.field("metric"));
  RowStatement statement;
  if (!facts.is_refused()) {
    statement.spec = state_model(facts, lexicon);
    statement.setup = state_setup(facts, statement.spec.layers);
    if (facts.is_true("independent")) statement.copies = facts.whole("n_gpu", "gpus").value_or(1);
    statement.recipe = state_recipe(facts, statement.spec, statement.setup);
    statement.gpu = state_gpu(facts, lexicon);
    take_kernel_of(statement.gpu, statement.setup);
    state_value(facts, statement);
  }
  if (!facts.is_refused()) stated.statement = std::move(statement);
  stated.refusals = facts.refusals();
  stated.open = facts.open();
  return stated;
}

}  // namespace plimsoll
