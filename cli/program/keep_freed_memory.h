#pragma once

namespace plimsoll {

/// From now on the C library keeps up to 128 MiB that was freed instead of giving it back to the system at once: a
/// search makes and drops the instructions of a step some hundred times, and nine in ten of its page faults were for
/// memory that it had just given back. For commands that search and then end, not for those that train. Without effect
/// where another allocator was loaded; to be called before other threads begin.
void keep_freed_memory();

}  // namespace plimsoll
