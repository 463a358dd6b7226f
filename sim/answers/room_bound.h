#pragma once

#include "sim/answers/question.h"

namespace plimsoll {

/// Bytes that no plan of ours goes below, over all memories together: the weights that compute reads, the optimizer's own and
/// its states, and where updates wait for the norm of all gradients the smaller of those gradients and a second version of
/// what is updated.
Bytes least_bytes(const ModelSpec& spec, const Recipe& recipe);

/// What of that is more than all memories together have; 0 where it is not.
Bytes beyond_all_memory(const Question& question);

/// Whether no plan of ours has room, where that takes more than beyond_all_memory to say: the states are more than device and host
/// hold, so the optimizer works from the drive, and those of a group outside the blocks pass through host memory with their
/// gradients while the drive holds all other gradients. Says nothing (false) of recipes and machines to which that does not apply.
bool too_much_to_stage(const Question& question);

}  // namespace plimsoll
