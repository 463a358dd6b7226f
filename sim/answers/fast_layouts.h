#pragma once

#include <cstddef>
#include <vector>

#include "sim/answers/program_settings.h"

namespace plimsoll {

/// Layouts of a program's tensor ranks and stages, compared coarsely.
struct FastLayouts {
  std::vector<ParallelLayout> fastest;  ///< those that may fit, the fastest first; where none may, those that need least
  std::size_t tried = 0;
  double model_flops = 0;                ///< of a step on all GPUs
};

/// Every layout that Megatron-LM has (1f1b and interleaved chunks, ZeRO up to 1) and what is said leaves, timed by sim/parallel. What
/// is beyond a GPU's memory by more than a part, which a step in full might not have, is left out.
Result<FastLayouts> fast_layouts(const Question& question, const OpenSettings& open, unsigned threads = 0);

}  // namespace plimsoll
