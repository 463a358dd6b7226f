#include "sim/cost/kernel_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_tasks.h"
#include "core/graph/op_work.h"
#include "sim/cost/shape_fields.h"

namespace plimsoll {

KernelSort sort_of(OpKind kind) {
  if (is_product(kind)) return KernelSort::kProduct;
  if (attends_forward(kind)) return KernelSort::kAttentionForward;
  if (attends_backward(kind)) return KernelSort::kAttentionBackward;
  return is_update(kind) ? KernelSort::kOptimizer : KernelSort::kStreaming;
}

KernelWork work_of(const Kernel& kernel) {
  return {.flops = flops_of(kernel.kind, kernel.shape),
          .bytes = static_cast<double>(traffic_of(kernel.kind, kernel.shape, kernel.dtype).count)};
}

KernelWork critical_work(const Kernel& kernel, std::int64_t workers) {
  const double uneven = static_cast<double>(workers) * busiest_share(kernel.kind, kernel.shape, workers);
  const KernelWork work = work_of(kernel);
  return {.flops = uneven * work.flops, .bytes = uneven * work.bytes};
}

std::string to_text(const Kernel& kernel) {
  return fmt::format("{} {}{}", to_text(kernel.kind), to_text(kernel.dtype), shape_text(kernel.shape));
}

}  // namespace plimsoll
