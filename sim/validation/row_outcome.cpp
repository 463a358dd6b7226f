#include "sim/validation/row_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace plimsoll {
namespace {

using Predictions = std::map<std::string, Result<StackPrediction>>;

std::string setup_key(const StackSetup& setup) {
  const std::string attention = setup.attention ? std::string(to_text(*setup.attention)) : "any";
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", to_text(setup.stack), to_text(setup.modules),
                     setup.compile, attention, to_text(setup.recomputation), setup.every, to_text(setup.loop),
                     setup.dropout.value_or(-1), setup.data_ranks, setup.zero, setup.tensor_ranks, setup.stages,
                     setup.sequence_parallel, to_text(setup.parameters), to_text(setup.gradients), to_text(setup.optimizer),
                     to_text(setup.activations), setup.expandable_segments, setup.loss_chunks, setup.update_in_backward, setup.keeps_gradients, setup.eager_modules, to_text(setup.os), setup.desktop,
                     setup.device_memory.value_or(Bytes(0)).count);
}

/// Micro-batches from the third on change no peak, and add their passes' time.
constexpr std::int64_t kSimulatedMicroBatches = 2;

Recipe folded(Recipe recipe) {
  recipe.accumulate = std::min(recipe.accumulate, kSimulatedMicroBatches);
  return recipe;
}

double step_seconds(const StackTime& time, const Recipe& recipe) {
  const std::int64_t simulated = folded(recipe).accumulate;
  const double passes = time.forward + time.backward;
  return time.step + passes * static_cast<double>(recipe.accumulate - simulated) / static_cast<double>(simulated);
}

/// The predicted number of the statement's measure; nothing where the prediction has none.
std::optional<double> measured(const StackPrediction& prediction, const RowStatement& statement) {
  const auto bytes = [](Bytes amount) -> std::optional<double> {
    if (amount.count <= 0) return std::nullopt;
    return static_cast<double>(amount.count);
  };
  switch (statement.measure) {
    case Measure::kAllocated: return bytes(prediction.peak.allocated);
    case Measure::kReserved: return bytes(prediction.peak.reserved);
    case Measure::kProcess: return bytes(prediction.peak.process);
    case Measure::kDevice: return bytes(prediction.peak.device);
    case Measure::kHost: return bytes(prediction.host);
    case Measure::kFits: return prediction.fits ? 1.0 : 0.0;
    case Measure::kStep:
      if (prediction.time.step <= 0) return std::nullopt;
      return step_seconds(prediction.time, statement.recipe);
  }
  return std::nullopt;
}

void judge(RowOutcome& outcome, const Result<StackPrediction>& prediction) {
  if (!prediction) {
    outcome.stated.refusals.push_back(fmt::format("not predicted: {}", prediction.error().what));
    return;
  }
  outcome.predicted = measured(*prediction, *outcome.stated.statement);
  outcome.certain = prediction->certain;
  outcome.assumptions = prediction->assumptions;
  if (!outcome.predicted) {
    outcome.stated.refusals.push_back(fmt::format("not predicted: {}", to_text(outcome.stated.statement->measure)));
  }
}

}  // namespace

std::optional<double> RowOutcome::error() const {
  if (!predicted || stated.statement->measure == Measure::kFits) return std::nullopt;
  return *predicted / stated.statement->published - 1;
}

std::string prediction_key(const RowStatement& statement) {
  ModelSpec spec = statement.spec;
  spec.name.clear();
  return fmt::format("{}\n{}\n{}\n{}", canonical_text(spec), canonical_text(folded(statement.recipe)), setup_key(statement.setup),
                     statement.gpu.name);
}

namespace {

/// Numbers that were said already: of the same prediction and measure, closer than they are printed.
class SaidNumbers {
 public:
  /// Where the number was said before; notes it otherwise.
  const std::string* find_or_note(const std::string& key, double published, const std::string& place) {
    constexpr double kPrinted = 0.005;
    auto& numbers = said_[key];
    for (const auto& [number, where] : numbers) {
      if (std::abs(number - published) <= kPrinted * published) return &where;
    }
    numbers.emplace_back(published, place);
    return nullptr;
  }

 private:
  std::map<std::string, std::vector<std::pair<double, std::string>>> said_;
};

}  // namespace

std::vector<RowOutcome> judge_rows(const std::vector<PublishedRow>& rows, const std::vector<StatedRow>& stated,
                                   const StackPredictor& predict) {
  Predictions known;
  SaidNumbers said;
  std::vector<RowOutcome> outcomes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    outcomes.push_back({.row = &rows[i], .stated = stated[i], .predicted = {}, .certain = true, .assumptions = {}});
    if (!stated[i].statement) continue;
    const RowStatement& statement = *stated[i].statement;
    const std::string key = prediction_key(statement);
    const std::string number = fmt::format("{}\n{}\n{}", key, to_text(statement.measure), statement.recipe.accumulate);
    if (const std::string* before = said.find_or_note(number, statement.published, rows[i].place)) {
      outcomes.back().stated.refusals.push_back(fmt::format("said before: {}", *before));
      continue;
    }
    auto found = known.find(key);
    if (found == known.end()) {
      found = known.emplace(key, predict(statement.spec, folded(statement.recipe), statement.setup, statement.gpu)).first;
    }
    judge(outcomes.back(), found->second);
  }
  return outcomes;
}

}  // namespace plimsoll
