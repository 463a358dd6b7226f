#pragma once

#include <cmath>

#include "executor/cuda/kernels/block.h"
#include "executor/kernels/loops.h"

// Updates of single elements. They run on the device or on the host, wherever a strategy puts them, and must give the same bits:
// both compile these functions without fused multiply-adds, and all that is left is IEEE arithmetic. For the host's loops
// (twin_loops_variant.cpp), compiled once for each instruction set, they have internal linkage: code of one instruction set must
// never be linked into another's.
#ifdef PLIMSOLL_LOOPS
#define PLIMSOLL_RULES namespace
#else
#define PLIMSOLL_RULES inline namespace rules
#endif

namespace plimsoll::cuda {
PLIMSOLL_RULES {

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

}  // namespace
}  // namespace plimsoll::cuda

#undef PLIMSOLL_RULES
