#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/validation/state_parallel.h"

namespace plimsoll {

/// A published step of many devices beside what is predicted.
struct ParallelOutcome {
  const PublishedRow* row = nullptr;
  std::string family;
  std::string machine;
  ParallelLayout layout;
  double published = 0;  ///< seconds
  double predicted = 0;
  double scaled = 0;    ///< predicted, times the one scalar of its machine
  std::string refusal;  ///< why there is no prediction

  [[nodiscard]] bool is_predicted() const { return refusal.empty(); }
  /// (predicted − published) ÷ published.
  [[nodiscard]] double error() const { return predicted / published - 1; }
  [[nodiscard]] double scaled_error() const { return scaled / published - 1; }
};

/// Errors of some rows; means are of absolute values but for the bias.
struct ParallelErrors {
  std::size_t rows = 0;
  double mean = 0;
  double median = 0;
  double worst = 0;
  double bias = 0;
  double scaled_mean = 0;  ///< with each machine's scalar
  double scaled_worst = 0;
};

/// Predicts all rows, then finds for every machine the scalar that makes the median error of its rows 0. The rows must
/// outlive the outcomes.
std::vector<ParallelOutcome> judge_parallel(const std::vector<PublishedRow>& rows,
                                            const std::vector<ReadingRule>& rules);

/// Errors of a family, or of all rows where it is empty.
ParallelErrors parallel_errors(const std::vector<ParallelOutcome>& outcomes, const std::string& family);

/// Names of the families that have predictions, sorted.
std::vector<std::string> parallel_families(const std::vector<ParallelOutcome>& outcomes);

/// The scalar of every machine: published over predicted, the median of its rows.
std::map<std::string, double> machine_scalars(const std::vector<ParallelOutcome>& outcomes);

}  // namespace plimsoll
