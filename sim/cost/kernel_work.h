#pragma once

#include <cstdint>
#include <string>

#include "core/plan/plan.h"

namespace plimsoll {

/// What bounds a kernel: matrix products, attention, the optimizer's streaming, or streaming of everything else.
enum class KernelSort : std::uint8_t { kProduct, kAttentionForward, kAttentionBackward, kOptimizer, kStreaming };

KernelSort sort_of(OpKind kind);

/// Arithmetic and traffic of one launch.
struct KernelWork {
  double flops = 0;
  double bytes = 0;
};

KernelWork work_of(const Kernel& kernel);

/// What every worker would do if all did as much as the busiest of `workers` CPU workers does: a product of one tile counts
/// `workers` times, since all but one of them wait.
KernelWork critical_work(const Kernel& kernel, std::int64_t workers);

/// "linear fp32 rows=1024 inputs=768 outputs=3072": the kind, the type, and the sizes that are not at their default.
std::string to_text(const Kernel& kernel);

}  // namespace plimsoll
