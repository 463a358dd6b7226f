#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/stack/predict_stack.h"
#include "sim/validation/row_statement.h"

namespace plimsoll {

/// predict_stack, or what a test puts in its place.
using StackPredictor =
    std::function<Result<StackPrediction>(const ModelSpec&, const Recipe&, const StackSetup&, const GpuEntry&)>;

/// A published row beside what is predicted.
struct RowOutcome {
  const PublishedRow* row = nullptr;
  StatedRow stated;
  std::optional<double> predicted;  ///< bytes, seconds, or 1 (fits) and 0 (does not)
  bool certain = true;              ///< of a verdict that something fits
  std::vector<std::string> assumptions;  ///< of the prediction

  /// (predicted − published) ÷ published; nothing for a verdict or where there is no prediction.
  [[nodiscard]] std::optional<double> error() const;
};

/// The recipe with as few micro-batches a step as tell its peak and what each of the others adds.
Recipe folded(Recipe recipe, const StackSetup& setup);
/// Seconds of the recipe's whole step from the times of the folded one.
double whole_step_seconds(const StackTime& time, const Recipe& recipe, const StackSetup& setup);

/// Predicts every row that is stated; rows that share a prediction are predicted once, and a number that another row says
/// within 0.5 % counts once. A refusal of the predictor joins the row's refusals. Outcomes are in the order of the rows, to
/// which they point.
std::vector<RowOutcome> judge_rows(const std::vector<PublishedRow>& rows, const std::vector<StatedRow>& stated,
                                   const StackPredictor& predict);

}  // namespace plimsoll
