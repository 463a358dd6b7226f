#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/graph/expert_shape.h"
#include "tests/executor/kernels/kernel_case.h"

// Routings worked out by hand. The router's weight is the identity, so that a token's vector is its logits.
namespace plimsoll::test {
namespace {

using Rows = std::vector<std::vector<double>>;

/// What a router writes, taken apart.
struct Routed {
  std::vector<double> scores, gates, starts, choices, rows, sources, statistics;
};

std::vector<double> cut(const std::vector<double>& from, std::int64_t begin, std::int64_t count) {
  return {from.begin() + begin, from.begin() + begin + count};
}

std::vector<double> flat(const Rows& rows) {
  std::vector<double> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

OpShape shape_of(const Rows& logits, GatingKind gating, std::int64_t choices, std::int64_t capacity, std::int64_t groups = 1) {
  const auto experts = static_cast<std::int64_t>(logits.front().size());
  return {.rows = static_cast<std::int64_t>(logits.size()), .inputs = experts, .experts = experts, .choices = choices,
          .capacity = capacity, .groups = groups, .variant = static_cast<std::uint8_t>(gating)};
}

KernelCase router_case(const OpShape& s) {
  return {"router", OpKind::kRouter, s,
          {{s.rows * s.inputs, Access::kRead},
           {s.experts * s.inputs, Access::kRead},
           {s.rows * scores_of_token(s), Access::kWrite},
           {s.rows * s.choices, Access::kWrite},
           {routing_elements(s), Access::kWrite, Content::kRouting},
           {statistics_elements(s), Access::kWrite, Content::kDouble}}};
}

Routed route(const Rows& logits, const OpShape& s) {
  const KernelCase router = router_case(s);
  Values values = random_values(router);
  values[0] = flat(logits);
  for (std::size_t i = 0; i < values[1].size(); ++i) values[1][i] = i % (logits.front().size() + 1) == 0 ? 1 : 0;
  const Values made = run_case(router, values, DType::kFp64);
  const std::int64_t sent = s.rows * s.choices, behind = s.experts + 1 + s.groups * s.experts;
  return {made[2], made[3], cut(made[4], 0, s.experts + 1), cut(made[4], behind, sent), cut(made[4], behind + sent, sent),
          cut(made[4], behind + 2 * sent, expert_rows(s)), made[5]};
}

double balance(const OpShape& s, const ExpertSpec& experts, const std::vector<double>& statistics) {
  const auto elements = static_cast<std::int64_t>(statistics.size());
  const KernelCase loss{"balance", OpKind::kExpertBalance, s,
                        {{elements, Access::kRead, Content::kDouble}, {slopes_elements(s), Access::kWrite, Content::kDouble},
                         {2, Access::kWrite, Content::kDouble}}, {}, experts};
  Values values = random_values(loss);
  values[0] = statistics;
  return run_case(loss, values, DType::kFp64)[2][0];
}

}  // namespace

TEST_CASE("an expert that is full refuses the tokens that come last") {
  // Logits (x, 0): tokens 0, 1, 2 want expert 0, token 3 expert 1. Two rows each: token 2 is refused.
  const Rows logits{{1, 0}, {2, 0}, {0.5, 0}, {0, 1}};
  const OpShape s = shape_of(logits, GatingKind::kSwitch, 1, 2);
  const Routed made = route(logits, s);
  CHECK(made.choices == std::vector<double>{0, 0, 0, 1});
  CHECK(made.rows == std::vector<double>{0, 1, -1, 2});
  CHECK(made.starts == std::vector<double>{0, 2, 3});
  CHECK(made.sources == std::vector<double>{0, 1, 3, -1});  // row 3 stands empty
  CHECK(made.statistics.back() == 0.25);                    // one of four
  const double p = 1 / (1 + std::exp(-1.0));                // of token 0 and of token 3
  CHECK(made.gates[0] == Approx(p).epsilon(1e-14));
  CHECK(made.gates[3] == Approx(p).epsilon(1e-14));
}

TEST_CASE("Switch's loss is alpha times E times the sum of shares and mean probabilities") {
  // f = (3/4, 1/4); P₀ = (σ(1) + σ(2) + σ(0.5) + σ(−1)) / 4, P₁ = 1 − P₀; loss = 0.01 · 2 · (3/4 P₀ + 1/4 P₁).
  const Rows logits{{1, 0}, {2, 0}, {0.5, 0}, {0, 1}};
  const OpShape s = shape_of(logits, GatingKind::kSwitch, 1, 2);
  const auto sigma = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double p = (sigma(1) + sigma(2) + sigma(0.5) + sigma(-1)) / 4;
  ExpertSpec experts = gating_defaults(GatingKind::kSwitch);
  CHECK(balance(s, experts, route(logits, s).statistics) == Approx(0.01 * 2 * (0.75 * p + 0.25 * (1 - p))).epsilon(1e-14));
}

TEST_CASE("of equal logits the expert of the lower number is chosen") {
  const Rows logits{{1, 1, 1}, {0, 2, 2}};
  CHECK(route(logits, shape_of(logits, GatingKind::kSwitch, 1, 0)).choices == std::vector<double>{0, 1});
  CHECK(route(logits, shape_of(logits, GatingKind::kTopK, 2, 0)).choices == std::vector<double>{0, 1, 1, 2});
}

TEST_CASE("first choices come before second ones, and a refused one still counts") {
  // First choices 0 0 1 2, all taken. Second choices 1 2 2 0 in turn: expert 1 has one row left, expert 2 one, then it
  // is full, expert 0 has been full since token 1: tokens 2 and 3 are refused. Two rows an expert, two of eight refused.
  const Rows logits{{3, 2, 1}, {3, 1, 2}, {1, 3, 2}, {2, 1, 3}};
  const OpShape s = shape_of(logits, GatingKind::kGShard, 2, 2);
  const Routed made = route(logits, s);
  CHECK(made.choices == std::vector<double>{0, 1, 0, 2, 1, 2, 2, 0});
  CHECK(made.rows == std::vector<double>{0, 3, 1, 5, 2, -1, 4, -1});
  CHECK(made.starts == std::vector<double>{0, 2, 4, 6});
  CHECK(made.statistics.back() == 0.25);
  // The softmax of 3, 2 and 1 is (1, 1/e, 1/e²) / (1 + 1/e + 1/e²); of the two largest alone 1 / (1 + 1/e).
  CHECK(made.gates[0] == Approx(1 / (1 + std::exp(-1.0))).epsilon(1e-14));
  // Loss: first choices c = (2, 1, 1) of S = 4 with mean probabilities m; a third of the sum.
  const double sum = 1 + std::exp(-1.0) + std::exp(-2.0), high = 1 / sum, mid = std::exp(-1.0) / sum, low = std::exp(-2.0) / sum;
  const double m0 = (high + high + low + mid) / 4, m1 = (mid + low + high + low) / 4, m2 = (low + mid + mid + high) / 4;
  ExpertSpec experts = gating_defaults(GatingKind::kGShard);
  CHECK(balance(s, experts, made.statistics) == Approx(0.01 / 3 * (0.5 * m0 + 0.25 * m1 + 0.25 * m2)).epsilon(1e-13));
}

TEST_CASE("a group's tokens take no room of another's") {
  // One row an expert and group: token 1 finds expert 0 full, token 2 is of the next group.
  const Rows logits{{1, 0}, {1, 0}, {1, 0}, {0, 1}};
  const Routed made = route(logits, shape_of(logits, GatingKind::kSwitch, 1, 1, 2));
  CHECK(made.rows == std::vector<double>{0, -1, 1, 2});
  CHECK(made.starts == std::vector<double>{0, 2, 3});
}

TEST_CASE("without a capacity nothing is refused, wherever all tokens go") {
  const Rows logits(5, {1, 0, 2});
  const Routed made = route(logits, shape_of(logits, GatingKind::kTopK, 2, 0));
  CHECK(made.starts == std::vector<double>{0, 5, 5, 10});  // the middle expert has none
  CHECK(made.statistics.back() == 0);
}

TEST_CASE("the loss of Hugging Face's Mixtral takes the mean of all routers before it multiplies") {
  // Two routers of one token each with p = (3/4, 1/4) and (1/4, 3/4), both experts chosen: f = (1, 1), P = (1/2, 1/2):
  // α · 2 · (1/2 + 1/2).
  const OpShape s{.rows = 1, .terms = 2, .experts = 2, .choices = 2, .groups = 1};
  const KernelCase loss{"balance", OpKind::kExpertBalance, s,
                        {{7, Access::kRead, Content::kDouble}, {7, Access::kRead, Content::kDouble},
                         {3, Access::kWrite, Content::kDouble}, {2, Access::kWrite, Content::kDouble}}, {},
                        {.count = 2, .per_token = 2, .balance = 0.5}};
  Values values = random_values(loss);
  values[0] = {1, 0.75, 0, 1, 0.25, 0, 0};  // chosen, probability, load of each expert; refused
  values[1] = {1, 0.25, 0, 1, 0.75, 0, 0};
  CHECK(run_case(loss, values, DType::kFp64)[3][0] == Approx(0.5 * 2 * 1));
}

TEST_CASE("a squared coefficient of variation of importance and of load is the noisy gating's loss") {
  // Importance 1 and 3: mean 2, variance 1, squared coefficient 1/4. Load 2 and 2: 0.
  const OpShape s{.rows = 4, .experts = 2, .choices = 2, .groups = 1, .variant = static_cast<std::uint8_t>(GatingKind::kNoisy)};
  ExpertSpec experts = gating_defaults(GatingKind::kNoisy);
  CHECK(balance(s, experts, {0, 1, 2, 0, 3, 2, 0}) == Approx(0.1 * 0.25).epsilon(1e-14));
  CHECK(balance(s, experts, {0, 2, 1, 0, 2, 3, 0}) == Approx(0.1 * 0.25).epsilon(1e-14));
}

TEST_CASE("GShard's second expert is taken with twice its weight as probability, by numbers of the step") {
  // Weights 3/4 and 1/4: half of 4096 second choices, 0.0078 the deviation of the share.
  const Rows logits(4096, {std::log(3.0), 0});
  OpShape s = shape_of(logits, GatingKind::kGShard, 2, 4096);
  s.constant = 1;
  const std::vector<double> rows = route(logits, s).rows;
  double sent = 0;
  for (std::size_t t = 0; t < 4096; ++t) sent += rows[2 * t + 1] >= 0 ? 1 : 0;
  CHECK(std::abs(sent / 4096 - 0.5) < 0.03);
  CHECK(route(logits, s).rows == rows);
  s.constant = 0;  // an evaluation draws nothing: whoever has a second weight is sent
  CHECK(route(logits, s).starts == std::vector<double>{0, 4096, 8192});
}

TEST_CASE("the auxiliary losses' gradients are scaled as the loss is, the losses that are told are not") {
  for (const GatingKind gating : {GatingKind::kTopK, GatingKind::kSwitch, GatingKind::kGShard, GatingKind::kNoisy}) {
    const std::string name(to_text(gating));
    KernelCase balance = case_named("expert balance, " + name);
    Values values = random_values(balance);
    const Values plain = run_case(balance, values, DType::kFp64);
    balance.operands.insert(balance.operands.begin() + 2, {5, Access::kRead, Content::kDouble});
    values.insert(values.begin() + 2, {0, 0, 0, 1024, 0});  // of a LossScale the fourth number
    const Values scaled = run_case(balance, values, DType::kFp64);
    CHECK(scaled[4] == plain[3]);
    CHECK(scaled[3].back() == 1024);
    const KernelCase backward = case_named("router backward, " + name);
    const std::size_t in = gating == GatingKind::kNoisy ? 3 : 2;
    Values inputs = random_values(backward);
    std::fill(inputs[in + 2].begin(), inputs[in + 2].end(), 0.0);  // nothing comes from the tokens' loss
    inputs[in + 5].back() = 1;
    const Values once = run_case(backward, inputs, DType::kFp64);
    inputs[in + 5].back() = 1024;
    const Values often = run_case(backward, inputs, DType::kFp64);
    for (std::size_t i = 0; i < once[in + 7].size(); ++i) REQUIRE(often[in + 7][i] == 1024 * once[in + 7][i]);
    CHECK(std::abs(once[in + 7][0]) > 0);
  }
}

}  // namespace plimsoll::test
