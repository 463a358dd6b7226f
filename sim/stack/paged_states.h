#pragma once

#include <vector>

#include "core/base/quantity.h"
#include "sim/stack/tape/stack_kernel.h"

namespace plimsoll {

class Tape;
struct StackPrediction;

/// States in managed memory, which has no place of its own: the driver keeps them on the GPU as far as others leave room and
/// evicts what was brought there longest ago.
struct PagedStates {
  Bytes all;
  Bytes at_once;  ///< of the parameter that has most: its update needs them on the GPU

  [[nodiscard]] bool exist() const { return all > Bytes(0); }
};

/// Those of the tape's parameters.
PagedStates paged_states(Tape& tape);

/// Where they lie beside what the allocator reserved, and what every step moves: all of them both ways where they do not all have
/// room, since each is needed in its turn and the next one was evicted for it.
void add_paged_states(StackPrediction& prediction, const PagedStates& paged, std::vector<StackKernel>& kernels);

}  // namespace plimsoll
