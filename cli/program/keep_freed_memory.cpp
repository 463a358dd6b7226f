#include "cli/program/keep_freed_memory.h"

#include <cstdlib>  // defines __GLIBC__ where the C library is glibc

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace plimsoll {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kKept = 128 << 20;
  constexpr int kMappedFrom =
      32 << 20;  // the most that glibc takes; what is larger is mapped, and given back when it is freed
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_MMAP_THRESHOLD, kMappedFrom);
#endif
}

}  // namespace plimsoll
