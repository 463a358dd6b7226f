#include "sim/alignment/alignment_answer.h"

#include <algorithm>
#include <numeric>

namespace plimsoll {

double AlignmentAnswer::seconds() const {
  return std::accumulate(phases.begin(), phases.end(), 0.0,
                         [](double sum, const AlignmentPhase& phase) { return sum + phase.seconds; });
}

Bytes AlignmentAnswer::device_peak() const {
  Bytes peak;
  for (const AlignmentPhase& phase : phases) peak = std::max(peak, phase.device);
  return peak;
}

Bytes AlignmentAnswer::host_peak() const {
  Bytes peak;
  for (const AlignmentPhase& phase : phases) peak = std::max(peak, phase.host);
  return peak;
}

}  // namespace plimsoll
