#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// How well predicted step times met measured ones on one machine, as bench/accuracy stores it.
struct StoredAccuracy {
  std::string machine;
  std::string date;
  std::string command;
  std::int64_t valid = 0;     ///< attempts that no other program disturbed
  std::int64_t attempts = 0;
  double median = 0;          ///< of the valid ones' absolute errors, a share
  double worst = 0;
  double bias = 0;            ///< mean of signed errors
  double noise = 0;           ///< what two runs of one plan differ by
  std::vector<std::pair<std::string, double>> by_plan;  ///< median error of each
};

/// Reads bench/results/accuracy.json; errors name file and path.
Result<StoredAccuracy> read_stored_accuracy(std::string_view text, std::string where);

}  // namespace plimsoll
