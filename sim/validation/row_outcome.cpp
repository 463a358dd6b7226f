#include "sim/validation/row_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "sim/validation/searched_rows.h"

namespace plimsoll {
namespace {

/// Micro-batches from the third on change no peak, and add their passes' time; a pipeline is full after two rounds.
constexpr std::int64_t kSimulatedMicroBatches = 2;
/// Where sums of gradients wait elsewhere the first one fetches nothing, and more of the others tell what they take.
constexpr std::int64_t kOffloadedMicroBatches = 8;

}  // namespace

Recipe folded(Recipe recipe, const StackSetup& setup) {
  const bool waits = setup.optimizer != Home::kDevice || setup.stack == Stack::kPlimsoll;
  recipe.accumulate = std::min(recipe.accumulate, (waits ? kOffloadedMicroBatches : kSimulatedMicroBatches) * setup.stages);
  return recipe;
}

double whole_step_seconds(const StackTime& time, const Recipe& recipe, const StackSetup& setup) {
  const std::int64_t simulated = folded(recipe, setup).accumulate;
  const double passes = time.forward + time.backward - time.once;
  return time.step + passes * static_cast<double>(recipe.accumulate - simulated) / static_cast<double>(simulated);
}

namespace {

/// The predicted number of the statement's measure; nothing where the prediction has none.
std::optional<double> measured(const StackPrediction& prediction, const RowStatement& statement) {
  const auto bytes = [](Bytes amount) -> std::optional<double> {
    if (amount.count <= 0) return std::nullopt;
    return static_cast<double>(amount.count);
  };
  /// Parts are told of steps of one micro-batch alone.
  const auto seconds = [&](double part) -> std::optional<double> {
    if (part <= 0 || statement.recipe.accumulate > 1) return std::nullopt;
    return part;
  };
  switch (statement.measure) {
    case Measure::kAllocated: return bytes(prediction.peak.allocated);
    case Measure::kReserved: return bytes(prediction.peak.reserved);
    case Measure::kProcess: return bytes(prediction.peak.process);
    case Measure::kDevice: return bytes(prediction.peak.device);
    case Measure::kHost: return bytes(prediction.host);
    case Measure::kFits: return prediction.fits ? 1.0 : 0.0;
    case Measure::kForward:
      return seconds(prediction.time.forward);
    case Measure::kBackward:
      return seconds(prediction.time.backward);
    case Measure::kUpdate:
      return seconds(prediction.time.optimizer);
    case Measure::kLadder:
    case Measure::kLargest:
      return std::nullopt;
    case Measure::kStep:
    case Measure::kClusterStep:
      if (prediction.time.step <= 0) return std::nullopt;
      return whole_step_seconds(prediction.time, statement.recipe, statement.setup);
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
  if (!outcome.predicted && !prediction->fits) {
    outcome.stated.refusals.emplace_back("not predicted: told not to fit, and it ran");
  } else if (!outcome.predicted) {
    outcome.stated.refusals.push_back(fmt::format("not predicted: {}", to_text(outcome.stated.statement->measure)));
  }
}

}  // namespace

std::optional<double> RowOutcome::error() const {
  if (!predicted || stated.statement->measure == Measure::kFits) return std::nullopt;
  return *predicted / stated.statement->published - 1;
}

namespace {

/// Rows of which a source tells the best of what it tried.
void judge_searched(RowOutcome& outcome, const RowStatement& statement, const StackPredictor& predict) {
  const bool deepens = statement.measure == Measure::kLargest;
  const auto found = deepens ? largest_by_depth(statement, predict) : best_over_batches(statement, predict);
  if (!found) {
    outcome.stated.refusals.push_back(fmt::format("not predicted: {}", found.error().what));
    return;
  }
  outcome.predicted = *found;
  if (!*found) outcome.stated.refusals.emplace_back(deepens ? "not predicted: no depth fits" : "not predicted: no batch fits");
}

/// Numbers the predictions that statements need: two statements that need the same one get the same number.
class PredictionBook {
 public:
  std::size_t id_of(const RowStatement& statement) {
    ModelSpec spec = statement.spec;
    spec.name.clear();
    const std::string recipe = canonical_text(folded(statement.recipe, statement.setup));
    auto& alike = alike_[fmt::format("{}\n{}\n{}", canonical_text(spec), recipe, statement.gpu.name)];
    for (const auto& [setup, id] : alike) {
      if (setup == statement.setup) return id;
    }
    alike.emplace_back(statement.setup, count_);
    return count_++;
  }

 private:
  std::map<std::string, std::vector<std::pair<StackSetup, std::size_t>>> alike_;
  std::size_t count_ = 0;
};

/// Numbers that were said already: of the same prediction and measure, closer than they are printed.
class SaidNumbers {
 public:
  using Key = std::tuple<std::size_t, Measure, std::int64_t>;  ///< prediction, measure, micro-batches of a step

  /// Where the number was said before; notes it otherwise.
  const std::string* find_or_note(const Key& key, double published, const std::string& place) {
    constexpr double kPrinted = 0.005;
    auto& numbers = said_[key];
    for (const auto& [number, where] : numbers) {
      if (std::abs(number - published) <= kPrinted * published) return &where;
    }
    numbers.emplace_back(published, place);
    return nullptr;
  }

 private:
  std::map<Key, std::vector<std::pair<double, std::string>>> said_;
};

}  // namespace

std::vector<RowOutcome> judge_rows(const std::vector<PublishedRow>& rows, const std::vector<StatedRow>& stated,
                                   const StackPredictor& predict) {
  PredictionBook book;
  SaidNumbers said;
  std::map<std::size_t, Result<StackPrediction>> known;
  std::vector<RowOutcome> outcomes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    outcomes.push_back({.row = &rows[i], .stated = stated[i], .predicted = {}, .certain = true, .assumptions = {}});
    if (!stated[i].statement) continue;
    const RowStatement& statement = *stated[i].statement;
    if (statement.best_batch || statement.measure == Measure::kLargest) {
      judge_searched(outcomes.back(), statement, predict);
      continue;
    }
    const std::size_t id = book.id_of(statement);
    const SaidNumbers::Key number{id, statement.measure, statement.recipe.accumulate};
    if (const std::string* before = said.find_or_note(number, statement.published, rows[i].place)) {
      outcomes.back().stated.refusals.push_back(fmt::format("said before: {}", *before));
      continue;
    }
    auto found = known.find(id);
    if (found == known.end()) {
      found = known.emplace(id, predict(statement.spec, folded(statement.recipe, statement.setup), statement.setup, statement.gpu)).first;
    }
    judge(outcomes.back(), found->second);
  }
  return outcomes;
}

}  // namespace plimsoll
