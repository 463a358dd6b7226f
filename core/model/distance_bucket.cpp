#include "core/model/distance_bucket.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

std::int64_t DistanceBuckets::of(std::int64_t ahead) const {
  const std::int64_t own = causal ? count : count / 2;
  const std::int64_t first = !causal && ahead > 0 ? own : 0;
  const std::int64_t distance = causal ? std::max<std::int64_t>(0, -ahead) : std::abs(ahead);
  const std::int64_t near = own / 2;
  if (distance < near) return first + distance;
  const auto from = static_cast<float>(near);
  const auto span = static_cast<float>(std::log(static_cast<double>(farthest) / static_cast<double>(near)));
  const float share = std::log(static_cast<float>(distance) / from) / span * static_cast<float>(own - near);
  return first + std::min(own - 1, near + static_cast<std::int64_t>(share));
}

}  // namespace plimsoll
