#pragma once

#include <algorithm>

#include "core/graph/op_work.h"
#include "tests/executor/kernels/kernel_case.h"

namespace plimsoll::test {

/// Two sequences, of three tiles of what passes, the last of five rows.
inline OpShape wide_attention(std::int64_t heads, std::int64_t kv_heads, std::int64_t dim, AttentionKind kind) {
  const std::int64_t sequence = dim > 64 ? 2 * 32 + 5 : 2 * 64 + 5;
  return {.rows = 2 * sequence,
          .sequence = sequence,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = dim,
          .variant = static_cast<std::uint8_t>(kind)};
}

/// Attention of that shape, and its gradients.
inline std::vector<KernelCase> there_and_back(const std::string& name, const OpShape& s) {
  const std::int64_t qkv = s.rows * (s.heads + 2 * s.kv_heads) * s.head_dim, out = s.rows * s.heads * s.head_dim;
  const std::int64_t sums = s.rows * s.heads;
  const auto scratch = [&](OpKind kind) {
    const std::int64_t words = std::max(workspace_of(kind, s, DType::kFp64, kMostCaseWorkers).count / 8,
                                        workspace_of(kind, s, DType::kBf16, kMostCaseWorkers).count / 4);
    return CaseOperand{words, Access::kWrite, Content::kScratch};
  };
  const OpKind there = OpKind::kAttention, back = OpKind::kAttentionBackward;
  const CaseOperand written{sums, Access::kWrite, Content::kWide}, given{sums, Access::kRead, Content::kPositive};
  std::vector<KernelCase> cases{
      {name, there, s, {{qkv}, {out, Access::kWrite}, written, scratch(there)}},
      {name + ", backward", back, s, {{qkv}, {out}, given, {out}, {qkv, Access::kWrite}, scratch(back)}}};
  for (KernelCase& c : cases) {
    const bool padded = s.variant == static_cast<std::uint8_t>(AttentionKind::kPadded);
    if (padded) c.operands.insert(c.operands.begin() + 1, {4, Access::kRead, Content::kExtent});
  }
  return cases;
}

/// Heads that matrix units take, of 64 and 128 elements, with every kind of attention, and some that fill no tile.
inline std::vector<KernelCase> wide_attentions() {
  struct Of {
    const char* name;
    AttentionKind kind;
    std::int64_t dim, kv_heads;
  };
  constexpr Of kAll[] = {
      {"causal attention of 64", AttentionKind::kCausal, 64, 1},
      {"full attention of 64", AttentionKind::kFull, 64, 1},
      {"padded attention of 64", AttentionKind::kPadded, 64, 2},
      {"causal attention of 128", AttentionKind::kCausal, 128, 2},
      {"full attention of 128", AttentionKind::kFull, 128, 2},
      {"padded attention of 128", AttentionKind::kPadded, 128, 1},
      {"causal attention of 40", AttentionKind::kCausal, 40, 2},
      {"padded attention of 80", AttentionKind::kPadded, 80, 1},
  };
  std::vector<KernelCase> cases;
  for (const Of& of : kAll) {
    for (const KernelCase& c : there_and_back(of.name, wide_attention(2, of.kv_heads, of.dim, of.kind)))
      cases.push_back(c);
  }
  return cases;
}

}  // namespace plimsoll::test
