#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/recording.h"
#include "sim/replay/replay_options.h"

namespace plimsoll {

/// What-ifs about the machine, as typed.
struct ElsewhereFlags {
  std::string gpu;                  ///< another GPU; empty: none
  std::string recorded_gpu;         ///< which it was recorded on; empty: as the trace tells
  std::optional<double> bandwidth;  ///< GB/s of copies between host and device
  [[nodiscard]] bool any() const { return !gpu.empty() || bandwidth.has_value(); }
};

/// Puts the factors that the flags mean into `options`, and says how each kind of work was judged.
Result<std::vector<std::string>> move_elsewhere(const ElsewhereFlags& flags, const Recording& recording, ReplayOptions& options);

}  // namespace plimsoll
