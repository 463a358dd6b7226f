#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/executor/kernels/kernel_case.h"

namespace plimsoll::test {
namespace {

constexpr Access kR = Access::kRead;
constexpr Access kRw = Access::kReadWrite;

TEST_CASE("the squared norm of a gradient is the sum of its squares") {
  const KernelCase c{"norm", OpKind::kSquaredNorm, {.rows = 3}, {{3, kR}, {1, Access::kWrite, Content::kDouble}}};
  CHECK(run_case(c, {{3, 4, 12}, {0}}, DType::kFp32)[1][0] == 169);  // 9 + 16 + 144
}

TEST_CASE("clipping scales a gradient that is too long to the bound and leaves a short one") {
  // The bound is 0.75. Partial sums 4 + 5 give norm 3 and factor 0.75 / 3; partial sums 0.16 + 0.09 give norm 0.5 and
  // factor 1.
  const KernelCase c{
      "clip", OpKind::kClipFactor, {.terms = 2}, {{2, kR, Content::kDouble}, {2, Access::kWrite, Content::kDouble}}};
  CHECK(run_case(c, {{4, 5}, {0, 0}}, DType::kFp64)[1] == std::vector<double>{0.25, 3});
  CHECK(run_case(c, {{0.16, 0.09}, {0, 0}}, DType::kFp64)[1] == std::vector<double>{1, 0.5});
}

/// A LossScale after `updates` updates.
std::vector<double> scale_record(double scale, double updates) { return {1 / scale, 0, updates, scale, 1}; }

TEST_CASE("where the loss is scaled one factor unscales and clips, the flag tells, and the scale moves on") {
  // Scale 8, bound 0.75. Squares of scaled gradients 64 · 9: the norm is 24 / 8 = 3 and the factor (0.75 / 3) / 8 = 1 / 32.
  // Squares 64 · 0.25: norm 0.5, nothing clipped, factor 1 / 8.
  const auto run = [](double squares, ClipFlag flag) {
    const KernelCase c{"clip", OpKind::kClipFactor, {.terms = 1, .variant = static_cast<std::uint8_t>(flag)},
                       {{1, kR, Content::kDouble}, {4, Access::kWrite, Content::kDouble}, {5, kRw, Content::kDouble},
                        {1, Access::kWrite, Content::kDouble}}};
    return run_case(c, {{squares}, {0, 0, 0, 0}, scale_record(8, 5), {7}}, DType::kFp16);
  };
  for (const ClipFlag flag : {ClipFlag::kRedo, ClipFlag::kUpdate}) {
    const double whole = flag == ClipFlag::kRedo ? 0 : 1;
    const Values long_one = run(64 * 9, flag), short_one = run(64 * 0.25, flag);
    CHECK(long_one[1] == std::vector<double>{1.0 / 32, 3, 5, 8});
    CHECK(long_one[3][0] == 1);  // clipped: redone, and updated
    CHECK(short_one[1] == std::vector<double>{1.0 / 8, 0.5, 5, 8});
    CHECK(short_one[3][0] == whole);
    CHECK(short_one[2] == std::vector<double>{1.0 / 8, 0, 6, 8, 2});
    const Values bad = run(std::numeric_limits<double>::infinity(), flag);
    CHECK(std::isnan(bad[1][0]));
    CHECK(bad[3][0] == (flag == ClipFlag::kRedo ? 1 : 0));
    CHECK(bad[2] == std::vector<double>{1.0 / 4, 0, 5, 4, 0});
  }
}

TEST_CASE("an update of a step that is skipped lets the old version go on") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const KernelCase c{"skipped", OpKind::kAdamW, {.rows = 2, .inputs = 1},
                     {{2, kR, Content::kWide}, {2, kR, Content::kWide}, {2, kR, Content::kPositive}, {2, kR},
                      {4, kR, Content::kDouble}, {2, Access::kWrite, Content::kWide}, {2, Access::kWrite, Content::kWide},
                      {2, Access::kWrite, Content::kWide}, {2, Access::kWrite}}};
  const Values skipped = run_case(c, {{1.25, 1 + 0x1p-12}, {3, 4}, {5, 6}, {nan, 1}, {nan, 0, 0, 1}, {0, 0}, {0, 0}, {0, 0}, {0, 0}},
                                  DType::kFp16, {.precision = Precision::kFp16Mixed});
  CHECK(skipped[5] == std::vector<double>{1.25, 1 + 0x1p-12});
  CHECK(skipped[6] == std::vector<double>{3, 4});
  CHECK(skipped[7] == std::vector<double>{5, 6});
  CHECK(skipped[8] == std::vector<double>{1.25, 1});  // rounded to fp16

  const KernelCase in_place{"skipped in place", OpKind::kAdamW, {.rows = 2, .inputs = 1},
                            {{2, kRw, Content::kWide}, {2, kRw, Content::kWide}, {2, kRw, Content::kPositive}, {2, kR},
                             {4, kR, Content::kDouble}, {2, Access::kWrite}}};
  const Values kept = run_case(in_place, {{1.25, 2}, {3, 4}, {5, 6}, {nan, 1}, {nan, 0, 0, 1}, {0, 0}}, DType::kFp16,
                               {.precision = Precision::kFp16Mixed});
  CHECK(kept[0] == std::vector<double>{1.25, 2});
  CHECK(kept[1] == std::vector<double>{3, 4});
  CHECK(kept[5] == std::vector<double>{1.25, 2});
}

TEST_CASE("AdamW moves moments, corrects their bias, and decays the leading elements only") {
  // Step 3 (t = 4), rate 0.01, decay 0.1, betas 0.9 and 0.95. Two elements with w = 2, m = 0.1, v = 0.2, g = 0.5,
  // factor 0.5: m = 0.09 + 0.1 · 0.25 = 0.115, v = 0.19 + 0.05 · 0.0625 = 0.193125, m̂ = 0.115 / (1 − 0.9⁴) = 0.115 /
  // 0.3439, v̂ = 0.193125 / (1 − 0.95⁴) = 0.193125 / 0.18549375.
  const KernelCase c{"adamw",
                     OpKind::kAdamW,
                     {.rows = 2, .inputs = 1},
                     {{2, kRw}, {2, kRw}, {2, kRw}, {2, kR}, {2, kR, Content::kDouble}}};
  const Values results = run_case(c, {{2, 2}, {0.1, 0.1}, {0.2, 0.2}, {0.5, 0.5}, {0.5, 9}}, DType::kFp64);
  const double moved = 0.01 * (0.115 / 0.3439) / (std::sqrt(0.193125 / 0.18549375) + 1e-8);
  CHECK(results[1][0] == Approx(0.115).epsilon(1e-14));
  CHECK(results[2][0] == Approx(0.193125).epsilon(1e-14));
  CHECK(results[0][0] == Approx(2 * (1 - 0.001) - moved).epsilon(1e-14));
  CHECK(results[0][1] == Approx(2 - moved).epsilon(1e-14));
}

TEST_CASE("AdamW from one version of its states to the next gives the bits that it gives in place, and keeps the old one") {
  constexpr std::int64_t kCount = 70'003;  // two tasks, and no whole number of vectors
  const OpShape shape{.rows = kCount, .inputs = 66'000};
  const CaseOperand old{kCount, kR}, state{kCount, kRw}, fresh{kCount, Access::kWrite}, factor{2, kR, Content::kDouble};
  for (const bool clips : {false, true}) {
    KernelCase in_place{"in place", OpKind::kAdamW, shape, {state, state, {kCount, kRw, Content::kPositive}, old}};
    KernelCase onwards{"onwards", OpKind::kAdamW, shape, {old, old, {kCount, kR, Content::kPositive}, old}};
    if (clips) in_place.operands.push_back(factor), onwards.operands.push_back(factor);
    onwards.operands.insert(onwards.operands.end(), {fresh, fresh, fresh});
    for (const DType dtype : {DType::kFp32, DType::kFp64}) {
      const Values before = random_values(in_place);
      Values with_room = before;
      with_room.resize(onwards.operands.size(), std::vector<double>(kCount, 7));
      const Values updated = run_case(in_place, before, dtype), versions = run_case(onwards, with_room, dtype);
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(versions[versions.size() - 3 + i] == updated[i]);
        CHECK(versions[i] == before[i]);
        CHECK(updated[i] != before[i]);
      }
    }
  }
}

TEST_CASE("a factor of 1 gives AdamW the bits that no factor gives") {
  const OpShape shape{.rows = 1001, .inputs = 500};
  KernelCase c{"adamw", OpKind::kAdamW, shape, {{1001, kRw}, {1001, kRw}, {1001, kRw, Content::kPositive}, {1001, kR}}};
  const Values without = random_values(c);
  const Values expected = run_case(c, without, DType::kFp32);
  c.operands.push_back({2, kR, Content::kDouble});
  Values with = without;
  with.push_back({1, 9});
  const Values clipped = run_case(c, with, DType::kFp32);
  for (std::size_t i = 0; i < 3; ++i) CHECK(clipped[i] == expected[i]);
}

TEST_CASE("clipping raises its flag exactly when the factor is not 1") {
  const CaseOperand sums{1, kR, Content::kDouble}, factor{2, Access::kWrite, Content::kDouble};
  const CaseOperand flag{1, Access::kWrite, Content::kDouble};
  const KernelCase c{"clip", OpKind::kClipFactor, {.terms = 1}, {sums, factor, flag}};  // the bound is 0.75 = √0.5625
  CHECK(run_case(c, {{0.5625}, {0, 0}, {9}}, DType::kFp64)[2][0] == 0);
  CHECK(run_case(c, {{0.5626}, {0, 0}, {9}}, DType::kFp64)[2][0] != 0);
}

TEST_CASE("the first gradient of an accumulator replaces what stood there and later ones are added") {
  const OpShape s{.rows = 2};
  const KernelCase first{"first", OpKind::kAccumulate, s, {{2, kR}, {2, Access::kWrite}}};
  const KernelCase later{"later", OpKind::kAccumulate, s, {{2, kR}, {2, kRw}}};
  CHECK(run_case(first, {{1, 2}, {10, 20}}, DType::kFp32)[1] == std::vector<double>{1, 2});
  CHECK(run_case(later, {{1, 2}, {10, 20}}, DType::kFp32)[1] == std::vector<double>{11, 22});
}

}  // namespace
}  // namespace plimsoll::test
