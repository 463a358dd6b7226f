#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

#include "executor/cuda/host_twins.h"
#include "executor/cuda/launch/attention.h"
#include "executor/cuda/launch/supports.h"
#include "formats/models/half_floats.h"
#include "tests/executor/cuda/device_cases.h"
#include "tests/executor/cuda/emulated_launch.h"

namespace plimsoll::test {
namespace {

/// The device's programs in place of the CPU's kernels.
CaseOptions emulated(Fibers::Order order) {
  const auto launch = [order](const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
    std::vector<std::byte> scratch(static_cast<std::size_t>(cuda::scratch_of(kernel).count) + 1);
    emulate({kernel, operands, context, scratch.data()}, order);
  };
  return {.launch = launch};
}

}  // namespace

TEST_CASE("every program of the device agrees with the CPU's kernel to a few roundings") {
  REQUIRE(device_cases().size() > 50);
  for (const KernelCase& c : device_cases()) {
    CAPTURE(c.name);
    const Values inputs = random_values(c);
    const Values expected = run_case(c, inputs, DType::kFp64);
    const Values found = run_case(c, inputs, DType::kFp32, emulated(Fibers::Order::kForward));
    for (std::size_t i = 0; i < c.operands.size(); ++i) {
      if (writes(c.operands[i].access)) CHECK(relative_distance(found[i], expected[i]) < 2e-6);
    }
  }
}

TEST_CASE("in bf16 every program rounds what it stores once: it agrees with the CPU's to a few units of bf16") {
  for (const KernelCase& c : device_cases()) {
    CAPTURE(c.name);
    const Values inputs = rounded(c, random_values(c), DType::kBf16);
    const Values expected = run_case(c, inputs, DType::kFp64);
    const Values found = run_case(c, inputs, DType::kBf16, emulated(Fibers::Order::kForward));
    for (std::size_t i = 0; i < c.operands.size(); ++i) {
      if (writes(c.operands[i].access)) CHECK(relative_distance(found[i], expected[i]) < 4e-3);  // 2⁻⁸
    }
  }
}

TEST_CASE("in fp16 too: to a few units of fp16") {
  for (const KernelCase& c : device_cases()) {
    CAPTURE(c.name);
    const Values inputs = rounded(c, random_values(c), DType::kFp16);
    const Values expected = run_case(c, inputs, DType::kFp64);
    const Values found = run_case(c, inputs, DType::kFp16, emulated(Fibers::Order::kForward));
    for (std::size_t i = 0; i < c.operands.size(); ++i) {
      if (writes(c.operands[i].access)) CHECK(relative_distance(found[i], expected[i]) < 5e-4);  // 2⁻¹¹
    }
  }
}

TEST_CASE("a device widens every fp16, and rounds to fp16, as single values are converted elsewhere") {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float one = cuda::wide(Fp16{half}), other = float_from_fp16(half);
    if (std::bit_cast<std::uint32_t>(one) != std::bit_cast<std::uint32_t>(other)) FAIL(bits << ": " << one << ", " << other);
  }
  for (std::uint64_t bits = 0; bits < 0x100000000U; bits += 4099) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    Fp16 rounded;
    cuda::put(rounded, value);
    if (rounded.bits != fp16_from_float(value)) FAIL("of " << value << ": " << rounded.bits);
  }
}

namespace {

/// An update of a scaled loss reads all of what the clip factor's kernel wrote, and corrects moments for updates made, not steps.
std::vector<KernelCase> scaled_updates() {
  std::vector<KernelCase> cases;
  for (KernelCase c : device_cases()) {
    if (!is_update(c.kind) || c.name.find("published") == std::string::npos) continue;
    c.operands[c.operands.size() - 2].elements = kScaledFactorDoubles;
    cases.push_back(std::move(c));
  }
  return cases;
}

Values with_factor(const KernelCase& c, double factor) {
  Values inputs = rounded(c, random_values(c, 8), DType::kFp16);
  inputs[c.operands.size() - 2] = {factor, 1, 2, 4096};  // after two updates, of three steps
  return inputs;
}

}  // namespace

TEST_CASE("an update of a scaled loss is the CPU's to fp32's roundings, and where nothing is finite its very bits") {
  REQUIRE(scaled_updates().size() == 5);
  for (const KernelCase& c : scaled_updates()) {
    CAPTURE(c.name);
    CaseOptions on_device = emulated(Fibers::Order::kForward), on_cpu;
    on_device.precision = on_cpu.precision = Precision::kFp16Mixed;
    const Values taken = run_case(c, with_factor(c, 0.25), DType::kFp16, on_device);
    const Values expected = run_case(c, with_factor(c, 0.25), DType::kFp16, on_cpu);
    for (std::size_t i = 0; i + 1 < c.operands.size(); ++i) CHECK(relative_distance(taken[i], expected[i]) < 1e-6);
    const Values skipped = run_case(c, with_factor(c, std::nan("")), DType::kFp16, on_device);
    const Values kept = run_case(c, with_factor(c, std::nan("")), DType::kFp16, on_cpu);
    for (std::size_t i = 0; i < c.operands.size(); ++i) {
      if (writes(c.operands[i].access)) CHECK(skipped[i] == kept[i]);
    }
    CHECK(skipped[0] == with_factor(c, 0)[0]);
  }
}

TEST_CASE("the clip factor of a scaled loss, its flag and the next scale are the CPU's to the bit") {
  CaseOptions on_device = emulated(Fibers::Order::kForward), on_cpu;
  on_device.precision = on_cpu.precision = Precision::kFp16Mixed;
  for (const ClipFlag flag : {ClipFlag::kRedo, ClipFlag::kUpdate}) {
    for (const bool has_flag : {false, true}) {
      for (const double squares : {0.01, 3e9, 1e300 * 1e300, std::nan("")}) {  // short, long, overflown, no number
        KernelCase c{"clip", OpKind::kClipFactor, {.terms = 2, .variant = static_cast<std::uint8_t>(flag)},
                     {{2, Access::kRead, Content::kDouble}, {kScaledFactorDoubles, Access::kWrite, Content::kDouble},
                      {kLossScaleDoubles, Access::kReadWrite, Content::kDouble}}};
        if (has_flag) c.operands.push_back({1, Access::kWrite, Content::kDouble});
        const double good = static_cast<double>(case_recipe().loss_scaling.interval) - 1;  // one more, and the scale grows
        Values inputs{{0.5, squares}, std::vector<double>(4, 0), {1.0 / 4096, 1, 2, 4096, good}};
        if (has_flag) inputs.push_back({0});
        const Values found = run_case(c, inputs, DType::kFp32, on_device), expected = run_case(c, inputs, DType::kFp32, on_cpu);
        CAPTURE(has_flag, squares, found[2][3]);
        CHECK(std::isnan(found[1][0]) == std::isnan(expected[1][0]));
        if (!std::isnan(expected[1][0])) CHECK(found[1] == expected[1]);
        CHECK(found[2] == expected[2]);
        CHECK(found[2][3] == (std::isfinite(squares) ? 8192 : 2048));
        if (has_flag) CHECK(found[3] == expected[3]);
      }
    }
  }
}

TEST_CASE("neither the order of blocks nor of threads between two barriers changes a bit") {
  for (const KernelCase& c : device_cases()) {
    if (cuda::suits_matrix_units(c.shape.head_dim)) continue;  // in the types that have them: matrix_attention_test
    CAPTURE(c.name);
    const Values inputs = random_values(c, 5);
    CHECK((run_case(c, inputs, DType::kFp32, emulated(Fibers::Order::kForward)) ==
           run_case(c, inputs, DType::kFp32, emulated(Fibers::Order::kBackward))));
  }
}

TEST_CASE("where operands lie changes no bit, whether they are moved in packs or one by one") {
  for (const KernelCase& c : packed_cases()) {
    for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kFp16}) {
      CAPTURE(c.name, to_text(dtype));
      const Values inputs = rounded(c, random_values(c, 8), dtype);
      CaseOptions even = emulated(Fibers::Order::kForward), odd = even;
      odd.begin = 8;
      CHECK((run_case(c, inputs, dtype, even) == run_case(c, inputs, dtype, odd)));
    }
  }
}

TEST_CASE("the host makes a device's updates and sums of squares with the same bits") {
  const auto launch = [](const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
    REQUIRE(launch_as_on_device(kernel, operands, context));
  };
  const CaseOptions on_host{.launch = launch};
  int compared = 0;
  for (const KernelCase& c : device_cases()) {
    if (!is_update(c.kind) && c.kind != OpKind::kSquaredNorm) continue;
    CAPTURE(c.name, ++compared);
    for (const DType dtype : {DType::kFp32, DType::kBf16}) {
      const Values inputs = random_values(c, 6);
      CHECK((run_case(c, inputs, dtype, on_host) == run_case(c, inputs, dtype, emulated(Fibers::Order::kForward))));
    }
  }
  for (const KernelCase& c : scaled_updates()) {
    CaseOptions host = on_host, device = emulated(Fibers::Order::kForward);
    host.precision = device.precision = Precision::kFp16Mixed;
    CHECK((run_case(c, with_factor(c, 0.5), DType::kFp16, host) == run_case(c, with_factor(c, 0.5), DType::kFp16, device)));
  }
  CHECK(compared > 4);
}

TEST_CASE("a number that is no token gives NaN, and no place outside the tables is read or written") {
  int tried = 0;
  for (const KernelCase& c : device_cases()) {
    const auto beyond = static_cast<double>(c.shape.outputs);
    for (const double stray : {beyond, 1e9, c.kind == OpKind::kEmbedding ? -7.0 : beyond}) {
      Values inputs = random_values(c, 7);
      const auto tokens = std::find_if(c.operands.begin(), c.operands.end(), [](const CaseOperand& operand) {
        return operand.content == Content::kToken || operand.content == Content::kLabel;
      });
      if (tokens == c.operands.end()) continue;
      std::fill_n(inputs[static_cast<std::size_t>(tokens - c.operands.begin())].begin(), 2, stray);  // a token, and a target
      CAPTURE(c.name, stray, ++tried);
      const Values found = run_case(c, inputs, DType::kFp32, emulated(Fibers::Order::kForward));
      const auto is_nan = [](double value) { return std::isnan(value); };
      const bool gave_nan = std::any_of(found.begin(), found.end(), [&](const std::vector<double>& operand) {
        return std::any_of(operand.begin(), operand.end(), is_nan);
      });
      CHECK(gave_nan == (c.kind != OpKind::kEmbeddingBackward));  // whose stray rows add to no table
    }
  }
  CHECK(tried > 9);
}

TEST_CASE("a kernel without a program is refused by its name") {
  const auto refused = cuda::check_kernel({.kind = OpKind::kRouter, .dtype = DType::kFp32});
  REQUIRE(!refused);
  CHECK(refused.error().text().find("'router' in fp32") != std::string::npos);
  CHECK(!cuda::check_kernel({.kind = OpKind::kAdd, .dtype = DType::kFp64}));
  CHECK(!cuda::check_kernel({.kind = OpKind::kAttention, .dtype = DType::kFp32, .shape = {.head_dim = 256}}));
}

}  // namespace plimsoll::test
