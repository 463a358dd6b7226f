#pragma once

#include <vector>

#include "core/base/result.h"
#include "formats/models/model_zoo.h"
#include "formats/published/reading_rules.h"
#include "sim/validation/row_facts.h"
#include "sim/validation/row_statement.h"

namespace plimsoll {

/// What rows are read with: the spellings of data/published, the models and the GPUs that have names.
struct RowLexicon {
  std::vector<ReadingRule> rules;
  std::vector<ZooModel> zoo;
  std::vector<GpuEntry> gpus;
};

/// The lexicon that the program carries. A defect of its tables is an error with file and line.
Result<RowLexicon> shipped_lexicon();

/// States a row, or says why it cannot be. Never guesses silently: what is assumed is listed under `open`.
StatedRow state_row(const PublishedRow& row, const RowLexicon& lexicon);

// The parts of a statement, each in its file; each notes in `facts` what it cannot state or has to assume.
ModelSpec state_model(RowFacts& facts, const RowLexicon& lexicon);
StackSetup state_setup(RowFacts& facts, std::int64_t layers);
Recipe state_recipe(RowFacts& facts, const ModelSpec& spec, const StackSetup& setup);
GpuEntry state_gpu(RowFacts& facts, const RowLexicon& lexicon);
/// Fills measure and published value in.
void state_value(RowFacts& facts, RowStatement& statement);

/// Processors that share the work of one step.
std::int64_t stated_gpus(const StackSetup& setup);

}  // namespace plimsoll
