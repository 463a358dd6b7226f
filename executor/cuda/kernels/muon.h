#pragma once

#include <cmath>

#include "executor/cuda/kernels/scalar.h"
#include "executor/kernels/newton_schulz.h"

// What Muon does to single elements on the device; between lie matrix products (launch/muon.h). The CPU's is executor/kernels/muon.cpp.
namespace plimsoll::cuda {

/// What of a step's numbers an update of matrices needs.
struct MuonNumbers {
  float momentum, direct;  ///< shares of the velocity and of the gradient in what comes of both
  float keep;            ///< of the weights, by decay
  bool skips;            ///< a factor that is no number leaves weights and velocity as they were
  const double* factor;  ///< of the gradient, or null

  [[nodiscard]] PLIMSOLL_DEVICE bool goes_on() const { return !skips || factor == nullptr || *factor == *factor; }
};

/// Moves the velocity and leaves in bf16 what is to be orthogonalized: the gradient and the new velocity, mixed.
template <typename G, typename W>
struct JoinVelocity {
  MuonNumbers numbers;
  const G* gradient;
  const W* velocity;
  W* new_velocity;
  Bf16* joined;

  PLIMSOLL_DEVICE void operator()(Index i) const {
    const float before = wide(velocity[i]), keep = numbers.momentum, add = numbers.direct;
    const float g = wide(gradient[i]) * (numbers.factor != nullptr ? static_cast<float>(*numbers.factor) : 1.0F);
    const float moved = keep * before + add * g;
    put(new_velocity[i], numbers.goes_on() ? moved : before);
    put(joined[i], add * g + keep * moved);
  }
};

/// Divides by the norm, after which no singular value is above 1.
struct DivideByNorm {
  const double* squares;  ///< their sum
  Bf16* values;

  PLIMSOLL_DEVICE static float rounded(float value) {
    Bf16 half;
    put(half, value);
    return wide(half);
  }
  PLIMSOLL_DEVICE void operator()(Index i) const {
    const float norm = rounded(static_cast<float>(sqrt(*squares))), least = rounded(static_cast<float>(kLeastMatrixNorm));
    put(values[i], wide(values[i]) / (norm > least ? norm : least));
  }
};

struct CopyElements {
  const Bf16* from;
  Bf16* to;
  PLIMSOLL_DEVICE void operator()(Index i) const { to[i] = from[i]; }
};

/// Takes the orthogonal matrix, times `by`, from the weights.
template <typename W, typename S>
struct MoveWeights {
  MuonNumbers numbers;
  float by;
  const Bf16* direction;
  const W* weights;
  W* new_weights;
  S* published;  ///< or null

  PLIMSOLL_DEVICE void operator()(Index i) const {
    const float before = wide(weights[i]);
    const float moved = numbers.goes_on() ? numbers.keep * before - by * wide(direction[i]) : before;
    put(new_weights[i], moved);
    if (published != nullptr) put(published[i], moved);
  }
};

}  // namespace plimsoll::cuda
