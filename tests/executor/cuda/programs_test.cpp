#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "executor/cuda/host_twins.h"
#include "executor/cuda/launch/supports.h"
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

TEST_CASE("neither the order of blocks nor of threads between two barriers changes a bit") {
  for (const KernelCase& c : device_cases()) {
    CAPTURE(c.name);
    const Values inputs = random_values(c, 5);
    CHECK((run_case(c, inputs, DType::kFp32, emulated(Fibers::Order::kForward)) ==
           run_case(c, inputs, DType::kFp32, emulated(Fibers::Order::kBackward))));
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
