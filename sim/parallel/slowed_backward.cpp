#include "sim/parallel/slowed_backward.h"

#include <algorithm>

namespace plimsoll {

double hidden_beside(double collective, double kernels, double share) { return std::min(kernels, collective * (1 - share)); }

SlowedBackward slow_backward(const BackwardBuckets& pass, double busy_until, double share) {
  SlowedBackward slowed{.ready = {}, .end = pass.begin, .sent = busy_until};
  const double part = pass.length / pass.buckets;
  for (double i = 1; i <= pass.buckets; ++i) {
    const double beside = std::max(0.0, slowed.sent - slowed.end);  // seconds that a collective still runs
    slowed.end += beside * (1 - share) >= part ? part / (1 - share) : part + share * beside;
    slowed.ready.push_back(slowed.end);
    slowed.sent = std::max(slowed.sent, slowed.end) + pass.seconds;
  }
  return slowed;
}

}  // namespace plimsoll
