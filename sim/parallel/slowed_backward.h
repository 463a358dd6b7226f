#pragma once

#include <vector>

namespace plimsoll {

/// Of a collective, the seconds that kernels hide which run beside it, where it takes `share` of the multiprocessors from them while
/// it runs: kernels of W seconds then take W + share · C beside a collective of C, which is max(C, W + share · C) for both.
double hidden_beside(double collective, double kernels, double share);

/// A stage's last backward pass beside the collectives of its gradients.
struct BackwardBuckets {
  double begin = 0;
  double length = 0;   ///< alone
  double buckets = 1;  ///< equal parts of the gradients; the i-th is there when the i-th part of the pass is done
  double seconds = 0;  ///< of a bucket's collective
};

/// The same while the collectives slow its kernels.
struct SlowedBackward {
  std::vector<double> ready;  ///< of each bucket
  double end = 0;             ///< of the pass
  double sent = 0;            ///< when the last bucket is reduced
};

/// Collectives run one after another, the first not before `busy_until`; while one runs, the pass goes on with 1 - `share` of its pace.
SlowedBackward slow_backward(const BackwardBuckets& pass, double busy_until, double share);

}  // namespace plimsoll
