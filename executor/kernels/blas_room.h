#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/model/recipe.h"

namespace plimsoll {

/// What OpenBLAS maps for each thread that multiplies beside others, once and for good: its BUFFER_SIZE on x86-64.
/// Where it cannot have it, it asks again for ever.
inline constexpr Bytes kBlasBuffer = 128 * kMiB + 64 * kKiB;

/// Whether products of that recipe are OpenBLAS's.
bool uses_openblas(const Recipe& recipe);

/// Refused where the address space of this process (`ulimit -v`) has no room for the buffers of that many threads. To
/// be asked when all else is mapped, and before the first product. `root` stands before /proc, for tests.
Result<void> check_blas_room(std::int64_t threads, const std::string& root = "");

}  // namespace plimsoll
