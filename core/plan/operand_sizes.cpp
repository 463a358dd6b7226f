#include "core/plan/operand_sizes.h"

#include <fmt/format.h>

#include "core/plan/least_bytes.h"

namespace plimsoll {
namespace {

bool is_of_experts(OpKind kind) {
  switch (kind) {
    case OpKind::kRouter:
    case OpKind::kDispatch:
    case OpKind::kExpertLinear:
    case OpKind::kExpertDropout:
    case OpKind::kCombine:
    case OpKind::kExpertBalance:
    case OpKind::kCombineBackward:
    case OpKind::kExpertLinearBackwardInput:
    case OpKind::kExpertLinearBackwardWeight:
    case OpKind::kDispatchBackward:
    case OpKind::kRouterBackward:
    case OpKind::kShareRouting:
      return true;
    default:
      return false;
  }
}

LeastBytes least_bytes(const Kernel& kernel, std::span<const GivenOperand> given, const KernelSurroundings& around) {
  if (is_update(kernel.kind)) return least_bytes_of_update(kernel, given, around);
  if (is_of_experts(kernel.kind)) return least_bytes_of_experts(kernel, given, around);
  return least_bytes_of_kernel(kernel, given, around);
}

bool has_negative(const OpShape& s) {
  for (const std::int64_t size : {s.rows, s.inputs, s.outputs, s.sequence, s.heads, s.kv_heads, s.head_dim, s.positions,
                                  s.stride, s.terms, s.experts, s.choices, s.capacity, s.groups}) {
    if (size < 0) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> find_size_flaw(const Kernel& kernel, std::span<const Use> uses, std::uint32_t guard,
                                          const KernelSurroundings& around) {
  if (has_negative(kernel.shape)) return "its kernel has a negative size";
  std::vector<GivenOperand> given;
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    if (i != guard) given.push_back({uses[i].access, uses[i].bytes.count});
  }
  const LeastBytes least = least_bytes(kernel, given, around);
  if (!least.flaw.empty()) return least.flaw;
  if (least.operands.size() != given.size()) {
    return fmt::format("a {} of that shape takes {} operands, and it has {}", to_text(kernel.kind),
                       least.operands.size(), given.size());
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].bytes >= least.operands[i]) continue;
    return fmt::format("operand {} of {} needs {} bytes, and its use has {}", i, to_text(kernel.kind),
                       least.operands[i], given[i].bytes);
  }
  return std::nullopt;
}

}  // namespace plimsoll
