#pragma once

#include <cmath>

#include "executor/cuda/kernels/scalar.h"
#include "executor/kernels/loops.h"

// Updates of single elements. They run on the device or on the host, wherever a strategy puts them, and must give the same bits:
// both compile these functions without fused multiply-adds, and all that is left is IEEE arithmetic.
namespace plimsoll::cuda {

using UpdateNumbers = UpdateStep<float>;

/// One element on its way: its weight and states, which the rule overwrites.
struct UpdatedElement {
  float gradient, weight, states[2];
};

struct SgdRule {
  static constexpr int kStates = 0;
  PLIMSOLL_DEVICE static void apply(const UpdateNumbers& s, UpdatedElement& e) {
    e.weight = e.weight - s.rate * (e.gradient * s.factor + s.decay * e.weight);
  }
};

struct MomentumRule {
  static constexpr int kStates = 1;
  PLIMSOLL_DEVICE static void apply(const UpdateNumbers& s, UpdatedElement& e) {
    const float g = e.gradient * s.factor + s.decay * e.weight;
    e.states[0] = s.momentum * e.states[0] + g;
    e.weight = e.weight - s.rate * (s.ahead * e.states[0] + s.direct * g);
  }
};

struct LionRule {
  static constexpr int kStates = 1;
  PLIMSOLL_DEVICE static void apply(const UpdateNumbers& s, UpdatedElement& e) {
    const float g = e.gradient * s.factor, mixed = s.beta1 * e.states[0] + (1 - s.beta1) * g;
    const float sign = mixed > 0 ? 1.0F : mixed < 0 ? -1.0F : 0.0F;
    e.states[0] = s.beta2 * e.states[0] + (1 - s.beta2) * g;
    e.weight = s.keep * e.weight - s.rate * sign;
  }
};

PLIMSOLL_DEVICE inline float adam_direction(const UpdateNumbers& s, float g, UpdatedElement& e) {
  e.states[0] = s.beta1 * e.states[0] + (1 - s.beta1) * g;
  e.states[1] = s.beta2 * e.states[1] + (1 - s.beta2) * g * g;
  return s.step_size * e.states[0] / (std::sqrt(e.states[1]) * s.inverse_root + s.epsilon);
}

struct AdamRule {
  static constexpr int kStates = 2;
  PLIMSOLL_DEVICE static void apply(const UpdateNumbers& s, UpdatedElement& e) {
    const float g = e.gradient * s.factor + s.decay * e.weight;
    const float direction = adam_direction(s, g, e);
    e.weight = e.weight - direction;
  }
};

struct AdamWRule {
  static constexpr int kStates = 2;
  PLIMSOLL_DEVICE static void apply(const UpdateNumbers& s, UpdatedElement& e) {
    const float direction = adam_direction(s, e.gradient * s.factor, e);
    e.weight = s.keep * e.weight - direction;
  }
};

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
