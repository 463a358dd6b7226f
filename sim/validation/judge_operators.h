#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "sim/stack/operators/operator_case.h"
#include "sim/validation/state_row.h"

namespace plimsoll {

/// A row of an operator's benchmark: sizes from its configuration and the swept one, the GPU's libraries from its name.
Result<OperatorCase> state_operator(const PublishedRow& row, const RowLexicon& lexicon);

/// A benchmark's row beside what is predicted.
struct OperatorOutcome {
  const PublishedRow* row = nullptr;
  std::optional<Bytes> predicted;
  std::string refusal;  ///< why there is no prediction

  /// (predicted − published) ÷ published.
  [[nodiscard]] std::optional<double> error() const;
};

/// Predicts the rows of operators among `rows`; the others are left out.
std::vector<OperatorOutcome> judge_operators(const std::vector<PublishedRow>& rows, const RowLexicon& lexicon);

/// How far a row may be off and still count as met.
inline constexpr double kOperatorTolerance = 0.005;

/// Rows of one operator, or of all.
struct OperatorGroup {
  std::string kernel;  ///< empty: all
  std::int64_t rows = 0;
  std::int64_t stated = 0;
  std::int64_t met = 0;  ///< within the tolerance
  double worst = 0;      ///< largest absolute error
};

/// All first, then each operator by name.
std::vector<OperatorGroup> summarize_operators(const std::vector<OperatorOutcome>& outcomes);

}  // namespace plimsoll
