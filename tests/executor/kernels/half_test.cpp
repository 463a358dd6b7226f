#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "executor/kernels/loops.h"
#include "formats/models/half_floats.h"
#include "tests/executor/kernels/kernel_case.h"

// Kernels whose tensors are stored in two bytes: loaded, computed with in fp32, rounded once.
namespace plimsoll::test {
namespace {

/// Every pattern, and enough of each to leave vectors and their remainders behind.
template <typename S>
std::vector<S> all_patterns() {
  std::vector<S> all;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) all.push_back({static_cast<std::uint16_t>(bits)});
  all.push_back({1});
  return all;
}

/// Numbers of every exponent at, just below and just above the middle between two neighbours, and random ones.
std::vector<float> hard_numbers() {
  std::vector<float> all{0.0F, -0.0F, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                         65504.0F, 65519.9F, 65520.0F, 65536.0F, 0x1p-24F, 0x1p-25F, 0x1.000002p-25F, 0x1p-26F, 0x1.ffcp-15F};
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (const std::uint32_t fraction : {0U, 1U, 0xfffU, 0x1000U, 0x1001U, 0x3000U, 0x7fffU, 0x8000U, 0x8001U, 0x18000U, 0x7fffffU}) {
      all.push_back(std::bit_cast<float>(exponent << 23 | fraction));
      all.push_back(-all.back());
    }
  }
  return all;
}

bool same_number(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

template <typename S, typename Widen, typename Round>
void check_conversions(const Widen& widen, const Round& round) {
  const std::vector<S> patterns = all_patterns<S>();
  std::vector<float> wide(patterns.size());
  conversions<S>().widen(static_cast<std::int64_t>(patterns.size()), patterns.data(), wide.data());
  for (std::size_t i = 0; i < patterns.size(); ++i) REQUIRE(same_number(wide[i], widen(patterns[i].bits)));
  std::vector<float> numbers = hard_numbers();
  numbers.insert(numbers.end(), wide.begin(), wide.end());
  std::vector<S> rounded(numbers.size());
  conversions<S>().round(static_cast<std::int64_t>(numbers.size()), numbers.data(), rounded.data());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    CAPTURE(numbers[i]);
    REQUIRE(rounded[i].bits == round(numbers[i]));
  }
}

TEST_CASE("vectorised conversions give the bits of single ones for every pattern and at every tie") {
  check_conversions<Bf16>(float_from_bf16, bf16_from_float);
  check_conversions<Fp16>(float_from_fp16, fp16_from_float);
}

/// Distance of two numbers in units of the last place of a type with so many bits of fraction, at their own size.
double units_apart(double a, double b, int fraction_bits, int least_exponent) {
  if (a == b) return 0;
  const int exponent = std::max(std::ilogb(std::max(std::abs(a), std::abs(b))), least_exponent);
  return std::abs(a - b) / std::ldexp(1.0, exponent - fraction_bits);
}

/// What the fp32 kernel makes of the same operands, each result rounded once.
Values expected_of(const KernelCase& c, const Values& inputs, DType dtype) {
  return rounded(c, run_case(c, inputs, DType::kFp32), dtype);
}

TEST_CASE("two-byte kernels give what fp32 kernels give of the same operands, rounded once") {
  // Both add in the same order in fp32; where a loop ends in a remainder the last bit of an fp32 value may differ, and then
  // the rounded value by one unit, rarely.
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    const int fraction = dtype == DType::kBf16 ? 7 : 10;
    const int least = dtype == DType::kBf16 ? -126 : -14;
    for (const KernelCase& c : all_cases()) {
      const Values inputs = rounded(c, random_values(c), dtype);
      const Values got = run_case(c, inputs, dtype), wanted = expected_of(c, inputs, dtype);
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (!writes(c.operands[i].access)) continue;
        CAPTURE(c.name, to_text(dtype), i);
        if (c.operands[i].content != Content::kReal) {
          CHECK(relative_distance(got[i], wanted[i]) < 1e-6);
          continue;
        }
        std::size_t different = 0;
        for (std::size_t e = 0; e < got[i].size(); ++e) {
          different += got[i][e] != wanted[i][e] ? 1 : 0;
          REQUIRE(units_apart(got[i][e], wanted[i][e], fraction, least) <= 1.0);
        }
        CHECK(static_cast<double>(different) <= 0.002 * static_cast<double>(got[i].size()));
      }
    }
  }
}

TEST_CASE("an update of fp32 weights publishes them rounded, from gradients of two bytes or from their fp32 sum") {
  constexpr std::int64_t kCount = 70'003;
  const OpShape shape{.rows = kCount, .inputs = 66'000};
  const CaseOperand state{kCount, Access::kReadWrite, Content::kWide}, second{kCount, Access::kReadWrite, Content::kPositive};
  for (const DType dtype : {DType::kBf16, DType::kFp16}) {
    for (const Content content : {Content::kReal, Content::kWide}) {
      const KernelCase single{"fp32", OpKind::kAdamW, shape, {state, state, second, {kCount, Access::kRead, content}}};
      KernelCase mixed = single;
      mixed.operands.push_back({kCount, Access::kWrite, Content::kReal});
      Values inputs = rounded(single, random_values(single), dtype);
      const Values wanted = run_case(single, inputs, DType::kFp32);
      inputs.emplace_back(kCount, 7.0);
      const Values got = run_case(mixed, inputs, dtype);
      CAPTURE(to_text(dtype), static_cast<int>(content));
      for (std::size_t i = 0; i < 3; ++i) CHECK(relative_distance(got[i], wanted[i]) < 1e-7);
      CHECK(got[4] == rounded(mixed, {{}, {}, {}, {}, got[0]}, dtype)[4]);
    }
  }
}

TEST_CASE("a gradient that is not finite makes the squared norm not finite") {
  const KernelCase c{"norm", OpKind::kSquaredNorm, {.rows = 3}, {{3, Access::kRead}, {1, Access::kWrite, Content::kDouble}}};
  // 60000² + 2 · 0 stays finite where the type of the sum had no room for it.
  CHECK(run_case(c, {{59904, 0, 0}, {0}}, DType::kFp16)[1][0] == 59904.0 * 59904.0);
  for (const double bad : {1e9, std::numeric_limits<double>::quiet_NaN()}) {  // 1e9 is beyond fp16
    CHECK_FALSE(std::isfinite(run_case(c, {{1, bad, 2}, {0}}, DType::kFp16)[1][0]));
  }
}

}  // namespace
}  // namespace plimsoll::test
