// Attention of an encoder with a decoder against its formula, written out.
#include <catch2/catch.hpp>
#include <cmath>
#include <utility>

#include "core/model/distance_bucket.h"
#include "tests/executor/kernels/kernel_case.h"

namespace plimsoll::test {
namespace {

constexpr std::int64_t kHeads = 4, kDim = 10;

double dot(const std::vector<double>& a, std::int64_t from, const std::vector<double>& b, std::int64_t with) {
  double sum = 0;
  for (std::int64_t i = 0; i < kDim; ++i)
    sum += a[static_cast<std::size_t>(from + i)] * b[static_cast<std::size_t>(with + i)];
  return sum;
}

/// Where a query, a key or a value of a sequence begins, and how many keys a query sees.
struct Rows {
  const std::vector<double>&queries, &keys;
  std::int64_t query_width, key_width, first_key, kv_heads, sequence, key_rows;
  bool causal;

  [[nodiscard]] std::int64_t query(std::int64_t seq, std::int64_t row, std::int64_t head) const {
    return (seq * sequence + row) * query_width + head * kDim;
  }
  [[nodiscard]] std::int64_t key(std::int64_t seq, std::int64_t row, std::int64_t head) const {
    return (seq * key_rows + row) * key_width + first_key + head / (kHeads / kv_heads) * kDim;
  }
};

/// Σ softmax(q · k + bias) v, row by row.
template <typename Bias>
std::vector<double> written_out(const Rows& at, const Bias& bias) {
  std::vector<double> out;
  for (std::int64_t seq = 0; seq < 2; ++seq) {
    for (std::int64_t row = 0; row < at.sequence; ++row) {
      for (std::int64_t head = 0; head < kHeads; ++head) {
        std::vector<double> sum(kDim, 0.0);
        double weights = 0;
        for (std::int64_t key = 0; key < (at.causal ? row + 1 : at.key_rows); ++key) {
          const double weight = std::exp(dot(at.queries, at.query(seq, row, head), at.keys, at.key(seq, key, head)) +
                                         bias(head, key - row));
          weights += weight;
          for (std::int64_t i = 0; i < kDim; ++i) {
            const std::int64_t value = at.key(seq, key, head) + at.kv_heads * kDim + i;
            sum[static_cast<std::size_t>(i)] += weight * at.keys[static_cast<std::size_t>(value)];
          }
        }
        for (const double of : sum) out.push_back(of / weights);
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("attention with a bias weighs keys by the exponential of their product and the number of their distance") {
  for (const std::string name : {"biased attention, causal, 4 kv heads", "biased attention, full, 2 kv heads"}) {
    const KernelCase c = case_named(name);
    const Values in = random_values(c), ran = run_case(c, in, DType::kFp64);
    const std::int64_t width = (kHeads + 2 * c.shape.kv_heads) * kDim, own = c.shape.sequence;
    const Rows at{in[0], in[0],         width,
                  width, kHeads * kDim, c.shape.kv_heads,
                  own,   own,           c.shape.variant == static_cast<std::uint8_t>(AttentionKind::kCausal)};
    const auto bias = [&](std::int64_t head, std::int64_t ahead) {
      return in[1][static_cast<std::size_t>(head * distance_count(own) + own - 1 + ahead)];
    };
    CHECK(relative_distance(ran[2], written_out(at, bias)) < 1e-14);
  }
}

TEST_CASE("cross attention weighs all keys of the other sequence by the exponential of their product") {
  for (const std::string name : {"cross attention, 4 kv heads", "cross attention, 2 kv heads"}) {
    const KernelCase c = case_named(name);
    const Values in = random_values(c), ran = run_case(c, in, DType::kFp64);
    const Rows at{
        in[0],          in[1], kHeads * kDim, 2 * c.shape.kv_heads * kDim, 0, c.shape.kv_heads, c.shape.sequence,
        c.shape.inputs, false};
    CHECK(relative_distance(ran[2], written_out(at, [](std::int64_t, std::int64_t) { return 0.0; })) < 1e-14);
  }
}

TEST_CASE("a bias of distances is the table's row of each distance's bucket") {
  for (const auto& [name, causal] :
       {std::pair{"distance bias, causal", true}, std::pair{"distance bias, full", false}}) {
    const KernelCase c = case_named(name);
    const Values in = random_values(c), ran = run_case(c, in, DType::kFp32);
    const DistanceBuckets buckets{.count = c.shape.rows, .causal = causal};
    for (std::int64_t head = 0; head < kHeads; ++head) {
      for (std::int64_t ahead = -132; ahead <= 132; ++ahead) {
        CHECK(ran[1][static_cast<std::size_t>(head * 265 + 132 + ahead)] ==
              in[0][static_cast<std::size_t>(buckets.of(ahead) * kHeads + head)]);
      }
    }
  }
}

}  // namespace plimsoll::test
