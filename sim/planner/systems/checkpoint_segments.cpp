#include "sim/planner/systems/checkpoint_segments.h"

#include <algorithm>

namespace plimsoll {

std::int64_t segment_load(std::int64_t blocks, std::int64_t segment) { return (blocks + segment - 1) / segment + segment; }

std::int64_t checkpoint_segment(std::int64_t blocks) {
  std::int64_t best = 1;
  for (std::int64_t segment = 2; segment <= std::max<std::int64_t>(1, blocks); ++segment) {
    if (segment_load(blocks, segment) < segment_load(blocks, best)) best = segment;
  }
  return best;
}

}  // namespace plimsoll
