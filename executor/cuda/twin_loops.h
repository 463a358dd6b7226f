#pragma once

#include <cstdint>

#include "executor/kernels/instruction_set.h"
#include "executor/kernels/loops.h"

namespace plimsoll {

/// Sums that stand beside each other where a device adds up squares: one of each thread of a block.
inline constexpr std::int64_t kTwinSums = 256;

/// Elements of an update as they are stored: gradients G, kept weights and states W, published weights S. New values may lie where
/// the old ones do.
template <typename G, typename W, typename S>
struct UpdatedElements {
  const G* gradient = nullptr;
  const W *weights = nullptr, *states[2] = {};
  W *new_weights = nullptr, *new_states[2] = {};
  S* published = nullptr;  ///< or null
};

/// The inner loops of updates of elements that are stored so, by their rules.
template <typename G, typename W, typename S>
struct TwinUpdates {
  using Loop = void (*)(std::int64_t n, const UpdateStep<float>& step, const UpdatedElements<G, W, S>& elements);
  Loop sgd, momentum, lion, adam, adamw;
};

/// Adds the square of x[i] to sums[i modulo kTwinSums].
template <typename S>
struct TwinSquares {
  void (*add_squares)(std::int64_t n, const S* x, double* sums);
};

/// Of one compute type: gradients of one micro-batch or sums of several, weights that are published or that compute reads.
template <typename S>
struct StoredTwinLoops : TwinUpdates<S, float, S>, TwinUpdates<float, float, S>, TwinUpdates<S, S, S>, TwinUpdates<float, S, S>, TwinSquares<S> {};
template <>
struct StoredTwinLoops<float> : TwinUpdates<float, float, float>, TwinSquares<float> {};

/// Inner loops of what the host computes in a device's place: IEEE arithmetic in the device's order with nothing contracted, so
/// unlike those of `Loops` they give the same bits whatever they are compiled for. What is stored in two bytes is widened and
/// rounded on the way.
struct TwinLoops : StoredTwinLoops<float>, StoredTwinLoops<Bf16>, StoredTwinLoops<Fp16> {};

const TwinLoops& twin_loops(InstructionSet set = best_instruction_set());

}  // namespace plimsoll
