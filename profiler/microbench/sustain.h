#pragma once

#include <cstdint>
#include <functional>

#include "formats/machines/spread.h"

namespace plimsoll {

struct SustainOptions {
  double least_seconds = 2.5;  ///< measured, after the warm-up: power limits and heat show only then
  double warm_up_seconds = 0.5;
  double batch_seconds = 0.05;           ///< of one measurement; long against a clock's grain and a launch
  std::int64_t most_pieces = 1'000'000;  ///< in a batch
};

/// What a device kept up.
struct Sustained {
  Spread seconds;            ///< a piece
  double total_seconds = 0;  ///< measured, without the warm-up
  std::int64_t pieces = 0;
  double slowdown = 1;  ///< the last quarter's median over the first's: above 1 the device throttled meanwhile
};

/// Runs `count` pieces of one kind of work and says how many seconds they took together.
using RunPieces = std::function<double(std::int64_t count)>;

/// Keeps a device at one kind of work: finds how many pieces make a batch, warms up, then measures batch after batch until enough
/// time was measured. A run that takes no time at all is measured as such, in most_pieces.
Sustained sustain(const RunPieces& run, const SustainOptions& options = {});

}  // namespace plimsoll
