#include "core/graph/expert_shape.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/graph/op_tasks.h"
#include "core/graph/op_work.h"

using namespace plimsoll;

TEST_CASE("experts have rows for what is sent, and for no more than they take") {
  const OpShape free{.rows = 100, .experts = 8, .choices = 2, .groups = 1};
  CHECK(expert_rows(free) == 200);
  CHECK(even_rows(free) == 25);
  OpShape bounded = free;
  bounded.capacity = 20;  // 8 · 20
  CHECK(expert_rows(bounded) == 160);
  bounded.capacity = 40;  // 320 are more than there are
  CHECK(expert_rows(bounded) == 200);
}

TEST_CASE("the rows expected with a capacity are the mean of the binomial distribution that ends there") {
  // One of two experts, 100 tokens: X ~ B(100, ½); at most 50 each. E[min(X, 50)] = 50 − E[(X − 50)⁺], and the mean absolute
  // deviation of B(2n, ½) is n · C(2n, n) / 4ⁿ with n = 50: 50 · 0.0795892 = 3.97946, half of it on either side.
  const OpShape s{.rows = 100, .experts = 2, .choices = 1, .capacity = 50, .groups = 1};
  CHECK(expected_rows(s) == Approx(2 * (50 - 3.97946 / 2)).epsilon(1e-3));
  OpShape roomy = s;
  roomy.capacity = 100;
  CHECK(expected_rows(roomy) == Approx(100).epsilon(1e-9));
  roomy.capacity = 0;
  CHECK(expected_rows(roomy) == 100);
}

TEST_CASE("products of experts count the tokens sent and read every expert's weight") {
  const OpShape s{.rows = 10, .inputs = 4, .outputs = 6, .experts = 8, .choices = 2, .groups = 1};
  CHECK(flops_of(OpKind::kExpertLinear, s) == 2.0 * 20 * 4 * 6);
  CHECK(traffic_of(OpKind::kExpertLinear, s, DType::kFp32) == Bytes(4 * (20 * (4 + 6) + 8 * 4 * 6)));
  CHECK(tasks_of(OpKind::kExpertLinear, s) == 8);  // one tile each
  CHECK(busiest_share(OpKind::kExpertLinear, s, 4) == 0.25);
  CHECK(busiest_share(OpKind::kExpertLinear, s, 3) == 3.0 / 8);
}
