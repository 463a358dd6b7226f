#pragma once

#include <optional>
#include <string>

#include "executor/tiers/drive_watch.h"

namespace plimsoll {

/// What the user should know of a run that goes on.
struct RunWarning {
  std::string text;
  std::optional<ExpectedRates> drive_reaches;  ///< of a drive that became slow: what a new plan may count on
};

}  // namespace plimsoll
