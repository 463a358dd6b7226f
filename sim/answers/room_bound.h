#pragma once

#include "sim/answers/question.h"

namespace plimsoll {

/// Bytes that no plan of ours goes below, over all memories together: the weights that compute reads, the optimizer's own and
/// its states, and where updates wait for the norm of all gradients the smaller of those gradients and a second version of
/// what is updated.
Bytes least_bytes(const ModelSpec& spec, const Recipe& recipe);

/// What of that is more than all memories together have; 0 where it is not.
Bytes beyond_all_memory(const Question& question);

}  // namespace plimsoll
