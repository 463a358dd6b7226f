#pragma once

#include <cmath>

#include "executor/cuda/kernels/scalar.h"
#include "executor/cuda/kernels/update_rules.h"

// Updates on the device. The host makes the same by loops (host_twins.cpp), with the same bits.
namespace plimsoll::cuda {

/// Corrections of the moments' bias, of which only the device knows how many updates were made: some were skipped.
struct UpdateCorrections {
  float step_size, inverse_root;
};
struct CorrectionNumbers {
  double rate, beta1, beta2;
};

/// baseᵉ by squaring: multiplications alone, so that host and device agree to the bit.
PLIMSOLL_DEVICE inline double power_of(double base, Index exponent) {
  double power = 1;
  for (; exponent > 0; exponent /= 2, base *= base) power *= exponent % 2 == 1 ? base : 1;
  return power;
}

/// `factor` is a LossScale's beginning: the factor, the norm, the updates made.
struct CorrectBias {
  CorrectionNumbers numbers;
  const double* factor;
  UpdateCorrections* made;
  PLIMSOLL_DEVICE void operator()(Index) const {
    const auto update = static_cast<Index>(factor[2]) + 1;
    made->step_size = static_cast<float>(numbers.rate / (1 - power_of(numbers.beta1, update)));
    made->inverse_root = static_cast<float>(1 / sqrt(1 - power_of(numbers.beta2, update)));
  }
};

/// A group's update of a rule: gradients G, kept weights and states W, published weights S. In place, new and old are one.
template <typename Rule, typename G, typename W, typename S>
struct UpdateGroup {
  UpdateNumbers numbers;
  Index decaying;  ///< elements below it decay
  const G* gradient;
  const W *weights, *states[2];
  W *new_weights, *new_states[2];
  S* published;          ///< or null
  const double* factor;  ///< of the gradient, or null; not a number: nothing changes, but the weights are published
  const UpdateCorrections* corrections;  ///< of a scaled loss, else null

  PLIMSOLL_DEVICE void operator()(Index i) const {
    UpdateNumbers s = numbers;
    if (factor != nullptr) s.factor = static_cast<float>(*factor);
    if (corrections != nullptr) {
      s.step_size = corrections->step_size;
      s.inverse_root = corrections->inverse_root;
    }
    if (i >= decaying) {
      s.keep = 1;
      s.decay = 0;
    }
    UpdatedElement e{.gradient = wide(gradient[i]), .weight = wide(weights[i])};
    for (int k = 0; k < Rule::kStates; ++k) e.states[k] = wide(states[k][i]);
    if (corrections == nullptr || s.factor == s.factor) Rule::apply(s, e);
    put(new_weights[i], e.weight);
    for (int k = 0; k < Rule::kStates; ++k) put(new_states[k][i], e.states[k]);
    if (published != nullptr) put(published[i], e.weight);
  }
};

}  // namespace plimsoll::cuda
