#pragma once

#include <cstdint>

namespace plimsoll {

/// At least `elements` floats of the calling thread's own; a later call takes them back. A thread has kHalfScratch of them
/// from its first kernel of a two-byte type on, more only for rows that are longer, and frees them when it ends.
float* thread_scratch(std::int64_t elements);

}  // namespace plimsoll
