#include "sim/validation/row_outcome.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace plimsoll {
namespace {

using Predictions = std::map<std::string, Result<StackPrediction>>;

std::string setup_key(const StackSetup& setup) {
  const std::string attention = setup.attention ? std::string(to_text(*setup.attention)) : "any";
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", to_text(setup.stack), to_text(setup.modules),
                     setup.compile, attention, to_text(setup.recomputation), setup.every, to_text(setup.loop),
                     setup.dropout.value_or(-1), setup.data_ranks, setup.zero, setup.tensor_ranks, setup.stages,
                     setup.sequence_parallel, to_text(setup.parameters), to_text(setup.gradients), to_text(setup.optimizer),
                     to_text(setup.activations), setup.expandable_segments, to_text(setup.os));
}

/// The predicted number of the statement's measure; nothing where the prediction has none.
std::optional<double> measured(const StackPrediction& prediction, Measure measure) {
  const auto bytes = [](Bytes amount) -> std::optional<double> {
    if (amount.count <= 0) return std::nullopt;
    return static_cast<double>(amount.count);
  };
  switch (measure) {
    case Measure::kAllocated: return bytes(prediction.peak.allocated);
    case Measure::kReserved: return bytes(prediction.peak.reserved);
    case Measure::kProcess: return bytes(prediction.peak.process);
    case Measure::kDevice: return bytes(prediction.peak.device);
    case Measure::kHost: return bytes(prediction.host);
    case Measure::kFits: return prediction.fits ? 1.0 : 0.0;
    case Measure::kStep: return prediction.time.step > 0 ? std::optional(prediction.time.step) : std::nullopt;
  }
  return std::nullopt;
}

void judge(RowOutcome& outcome, const Result<StackPrediction>& prediction) {
  if (!prediction) {
    outcome.stated.refusals.push_back(fmt::format("not predicted: {}", prediction.error().what));
    return;
  }
  outcome.predicted = measured(*prediction, outcome.stated.statement->measure);
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
  return fmt::format("{}\n{}\n{}\n{}", canonical_text(spec), canonical_text(statement.recipe), setup_key(statement.setup),
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
    const std::string number = fmt::format("{}\n{}", key, to_text(statement.measure));
    if (const std::string* before = said.find_or_note(number, statement.published, rows[i].place)) {
      outcomes.back().stated.refusals.push_back(fmt::format("said before: {}", *before));
      continue;
    }
    auto found = known.find(key);
    if (found == known.end()) {
      found = known.emplace(key, predict(statement.spec, statement.recipe, statement.setup, statement.gpu)).first;
    }
    judge(outcomes.back(), found->second);
  }
  return outcomes;
}

}  // namespace plimsoll
