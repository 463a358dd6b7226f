#pragma once

#include <string>
#include <vector>

#include "formats/runs/answers.h"

namespace plimsoll {

/// The --json answers. Their keys are a contract with scripts: keys are added, never renamed; what does not apply is
/// null. Each ends with a newline.
std::string to_json(const FitAnswer& answer);
/// One object for each plan, as `fit --strategy all` gives them.
std::string to_json(const std::vector<FitAnswer>& answers);
std::string to_json(const RunAnswer& answer);
std::string to_json(const ComparisonAnswer& answer);

}  // namespace plimsoll
