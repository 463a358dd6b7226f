#pragma once

#include <cstddef>
#include <span>

#include "executor/cuda/kernels/update.h"
#include "executor/kernels/launch.h"
#include "executor/kernels/loops.h"

namespace plimsoll::cuda {

/// The operands of an update by name (core/graph/op.h), wherever they lie. In place, new and old are one.
struct UpdatePlaces {
  const std::byte* gradient = nullptr;
  const std::byte* weights = nullptr;
  const std::byte* states[2] = {};
  std::byte* new_weights = nullptr;
  std::byte* new_states[2] = {};
  std::byte* published = nullptr;     ///< or null
  const std::byte* factor = nullptr;  ///< of the gradient, or null
  std::byte* workspace = nullptr;     ///< or null
};

/// Of a rule with so many states.
UpdatePlaces update_places(std::span<const OperandView> operands, std::size_t states, bool has_workspace = false);

/// The numbers of the step that `context` names; the factor is 1.
UpdateStep<float> update_numbers(const LaunchContext& context);

/// What a kernel needs to correct the bias of the step's moments by itself.
CorrectionNumbers correction_numbers(const LaunchContext& context);

}  // namespace plimsoll::cuda
