#include "core/graph/op_work.h"

#include <catch2/catch.hpp>

#include <set>

#include "core/graph/op_family.h"

using namespace plimsoll;

TEST_CASE("a linear layer and each of its backward products cost two operations a weight and row") {
  const OpShape shape{.rows = 10, .inputs = 3, .outputs = 5};
  CHECK(flops_of(OpKind::kLinear, shape) == 2.0 * 10 * 3 * 5);
  CHECK(flops_of(OpKind::kLinearBackwardInput, shape) == flops_of(OpKind::kLinear, shape));
  CHECK(flops_of(OpKind::kLinearBackwardWeight, shape) == flops_of(OpKind::kLinear, shape));
  CHECK(traffic_of(OpKind::kLinear, shape, DType::kFp32) == Bytes(4 * (10 * 3 + 3 * 5 + 10 * 5)));
}

TEST_CASE("causal attention counts the lower triangle: two products forward, five backward") {
  // 2 sequences of 4 tokens, 3 heads of 8: rows 8, a row sees (4+1)/2 = 2.5 keys on average.
  const OpShape shape{.rows = 8, .sequence = 4, .heads = 3, .kv_heads = 3, .head_dim = 8};
  const double one_product = 2.0 * 8 * 2.5 * 24;
  CHECK(flops_of(OpKind::kAttention, shape) == 2 * one_product);
  CHECK(flops_of(OpKind::kAttentionBackward, shape) == 5 * one_product);
}

TEST_CASE("attention in both directions counts every pair of a sequence") {
  // As above, but each row sees all 4 keys of its sequence, padding or not.
  OpShape shape{.rows = 8, .sequence = 4, .heads = 3, .kv_heads = 3, .head_dim = 8};
  for (const AttentionKind kind : {AttentionKind::kFull, AttentionKind::kPadded}) {
    shape.variant = static_cast<std::uint8_t>(kind);
    CHECK(flops_of(OpKind::kAttention, shape) == 2 * 2.0 * 8 * 4 * 24);
    CHECK(flops_of(OpKind::kAttentionBackward, shape) == 5 * 2.0 * 8 * 4 * 24);
  }
}

TEST_CASE("AdamW in mixed precision moves 28 bytes of state and gradient a parameter, and 2 to publish fp16 weights") {
  // read and write p, m, v in fp32 (24) + read an fp16 gradient (2) + write fp16 weights (2)
  CHECK(traffic_of(OpKind::kAdamW, {.rows = 1000}, DType::kFp16) == Bytes(28'000));
  // fp32: 24 + 4 for the gradient
  CHECK(traffic_of(OpKind::kAdamW, {.rows = 1000}, DType::kFp32) == Bytes(28'000));
}

TEST_CASE("only the CPU's attention scratch grows with its workers") {
  const OpShape shape{.rows = 128, .sequence = 128, .heads = 4, .kv_heads = 4, .head_dim = 16};
  const Bytes one = workspace_of(OpKind::kAttention, shape, DType::kFp32, 1);
  CHECK(workspace_of(OpKind::kAttention, shape, DType::kFp32, 3) == one * 3);
  CHECK(workspace_of(OpKind::kLinear, shape, DType::kFp32, 3) == Bytes(0));
}

TEST_CASE("every kernel moves bytes and none is without a name; exchanges alone are costed elsewhere") {
  const OpShape shape{.rows = 32, .inputs = 64, .outputs = 96, .sequence = 32, .heads = 2, .kv_heads = 2, .head_dim = 32,
                      .positions = 32, .experts = 4, .choices = 2, .groups = 1};
  for (int number = 0; number <= static_cast<int>(kLastOpKind); ++number) {
    const auto kind = static_cast<OpKind>(number);
    INFO(to_text(kind));
    CHECK(parse_op_kind(to_text(kind)) == kind);
    CHECK((traffic_of(kind, shape, DType::kFp32) > Bytes(0)) == (family_of(kind) != OpFamily::kExchange));
  }
}

TEST_CASE("kernels that only copy, and exchanges, count no arithmetic; every other kernel counts some") {
  const OpShape shape{.rows = 32, .inputs = 64, .outputs = 96, .sequence = 32, .heads = 2, .kv_heads = 2, .head_dim = 32,
                      .experts = 4, .choices = 2, .groups = 1};
  const std::set<OpKind> copies{OpKind::kFirstToken, OpKind::kFirstTokenBackward, OpKind::kKeysValues, OpKind::kShareRouting};
  for (int number = 0; number <= static_cast<int>(kLastOpKind); ++number) {
    const auto kind = static_cast<OpKind>(number);
    INFO(to_text(kind));
    const bool none = copies.contains(kind) || family_of(kind) == OpFamily::kExchange;
    CHECK((flops_of(kind, shape) > 0) != none);
  }
}
