#pragma once

#include <cstdint>

#include "executor/kernels/instruction_set.h"
#include "executor/kernels/loops.h"

namespace plimsoll {

/// Sums that stand beside each other where a device adds up squares: one of each thread of a block.
inline constexpr std::int64_t kTwinSums = 256;

/// Inner loops of what the host computes in a device's place: IEEE arithmetic in the device's order with nothing contracted, so
/// unlike those of `Loops` they give the same bits whatever they are compiled for. New values may lie where the old ones do.
struct TwinLoops {
  using Count = std::int64_t;
  using Step = UpdateStep<float>;
  using Stateless = void (*)(Count n, const Step& step, const float* gradient, const float* weights, float* new_weights);
  using WithVelocity = void (*)(Count n, const Step& step, const float* gradient, const float* weights, const float* velocity,
                                float* new_weights, float* new_velocity);
  using WithMoments = void (*)(Count n, const Step& step, const float* gradient, const float* weights, const float* m,
                               const float* v, float* new_weights, float* new_m, float* new_v);

  Stateless sgd;
  WithVelocity momentum, lion;
  WithMoments adam, adamw;
  void (*add_squares)(Count n, const float* x, double* sums);  ///< that of x[i] to sums[i modulo kTwinSums]
};

const TwinLoops& twin_loops(InstructionSet set = best_instruction_set());

}  // namespace plimsoll
