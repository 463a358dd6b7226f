#include "tests/executor/kernels/attention_cases.h"

#include <algorithm>

#include "core/graph/op_work.h"

namespace plimsoll::test {
namespace {

constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr Access kRw = Access::kReadWrite;

}  // namespace

std::int64_t scratch(OpKind kind, const OpShape& shape) {
  return std::max(workspace_of(kind, shape, DType::kFp64, kMostCaseWorkers).count / 8,
                  workspace_of(kind, shape, DType::kBf16, kMostCaseWorkers).count / 4);
}

OpShape attention_shape(std::int64_t heads, std::int64_t kv_heads) {
  return {.rows = 266, .sequence = 133, .heads = heads, .kv_heads = kv_heads, .head_dim = 10, .constant = 10000};
}

namespace {

/// With a bias of distances.
void add_biased_attentions(std::vector<KernelCase>& cases) {
  for (const AttentionKind kind : {AttentionKind::kCausal, AttentionKind::kFull}) {
    OpShape table{.rows = 12, .inputs = 128, .sequence = 133, .heads = 4, .variant = static_cast<std::uint8_t>(kind)};
    const std::string of = kind == AttentionKind::kCausal ? ", causal" : ", full";
    const std::int64_t numbers = 4 * distance_count(133);
    const CaseOperand bias{numbers, kR, Content::kWide}, made{numbers, kW, Content::kWide};
    cases.push_back({"distance bias" + of, OpKind::kDistanceBias, table, {{48, kR}, made}});
    cases.push_back({"distance bias backward" + of, OpKind::kDistanceBiasBackward, table, {bias, {48, kW}}});
    for (const std::int64_t kv_heads : {4, 2}) {
      OpShape s = attention_shape(4, kv_heads);
      s.variant = table.variant;
      const OpKind forward = OpKind::kBiasedAttention, back = OpKind::kBiasedAttentionBackward;
      const std::int64_t qkv = 266 * (4 + 2 * kv_heads) * 10, out = 266 * 40, sums = 266 * 4;
      const std::string heads = of + ", " + std::to_string(kv_heads) + " kv heads";
      cases.push_back(
          {"biased attention" + heads,
           forward,
           s,
           {{qkv, kR}, bias, {out, kW}, {sums, kW, Content::kWide}, {scratch(forward, s), kW, Content::kScratch}}});
      for (const Access access : {kW, kRw}) {
        cases.push_back({"biased attention backward" + heads + (access == kW ? "" : ", adding"),
                         back,
                         s,
                         {{qkv, kR},
                          bias,
                          {out, kR},
                          {sums, kR, Content::kPositive},
                          {out, kR},
                          {qkv, kW},
                          {numbers, access, Content::kWide},
                          {scratch(back, s), kW, Content::kScratch}}});
      }
    }
  }
}

/// To another sequence.
void add_cross_attentions(std::vector<KernelCase>& cases) {
  for (const std::int64_t kv_heads : {4, 2}) {
    OpShape s = attention_shape(4, kv_heads);
    s.inputs = 71;
    s.variant = static_cast<std::uint8_t>(AttentionKind::kFull);
    const OpKind forward = OpKind::kCrossAttention, back = OpKind::kCrossAttentionBackward;
    const std::int64_t keys = 2 * 71 * 2 * kv_heads * 10, out = 266 * 40, sums = 266 * 4;
    const std::string heads = ", " + std::to_string(kv_heads) + " kv heads";
    cases.push_back(
        {"cross attention" + heads,
         forward,
         s,
         {{out, kR}, {keys, kR}, {out, kW}, {sums, kW, Content::kWide}, {scratch(forward, s), kW, Content::kScratch}}});
    cases.push_back({"cross attention backward" + heads,
                     back,
                     s,
                     {{out, kR},
                      {keys, kR},
                      {out, kR},
                      {sums, kR, Content::kPositive},
                      {out, kR},
                      {out, kW},
                      {keys, kW},
                      {scratch(back, s), kW, Content::kScratch}}});
  }
}

}  // namespace

std::vector<KernelCase> paired_attentions() {
  std::vector<KernelCase> cases;
  add_biased_attentions(cases);
  add_cross_attentions(cases);
  return cases;
}

}  // namespace plimsoll::test
