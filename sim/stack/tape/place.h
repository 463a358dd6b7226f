#pragma once

#include <cstdint>
#include <string>

#include "core/graph/op.h"

namespace plimsoll {

/// Where in the steps something happened.
struct Place {
  std::int64_t step = 0;
  Phase phase = Phase::kForward;
  std::string what;
};

}  // namespace plimsoll
