#include "core/plan/operand_sizes.h"

#include <fmt/format.h>

#include "core/graph/op_family.h"
#include "core/plan/least_bytes.h"

namespace plimsoll {
namespace {

LeastBytes least_bytes(const Kernel& kernel, std::span<const GivenOperand> given, const KernelSurroundings& around) {
  switch (family_of(kernel.kind)) {
    case OpFamily::kAttention: return least_bytes_of_attention(kernel, given, around);
    case OpFamily::kExperts: return least_bytes_of_experts(kernel, given, around);
    case OpFamily::kUpdate: return least_bytes_of_update(kernel, given, around);
    default: return least_bytes_of_kernel(kernel, given, around);
  }
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
