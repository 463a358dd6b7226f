#pragma once

#include <cstddef>

#include "core/base/quantity.h"
#include "sim/stack/paged_states.h"

namespace plimsoll {

/// Events of the log after the model was made and after the first step.
struct StepMarks {
  std::size_t model = 0;
  std::size_t first_step = 0;
  std::size_t steady = 0;     ///< before the last simulated step, which is as all that follow
  std::size_t last_step = 0;  ///< what comes after it is the end of the program
  Bytes host;   ///< what the rank keeps in host memory, beside the program itself
  Bytes drive;
  PagedStates paged;
};

}  // namespace plimsoll
