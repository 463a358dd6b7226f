#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>

#include "executor/cuda/launch/supports.h"
#include "tests/executor/cuda/emulated_launch.h"
#include "tests/executor/kernels/kernel_case.h"

namespace plimsoll::test {
namespace {

using Memory = std::vector<std::vector<std::byte>>;

/// Runs the case in fp32 by the device's programs and hands back all operands' bytes.
Memory emulate_case(const KernelCase& c, const Values& inputs, Fibers::Order order) {
  Memory memory;
  std::vector<OperandView> views;
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    const bool integers = c.operands[i].content == Content::kToken || c.operands[i].content == Content::kLabel ||
                          c.operands[i].content == Content::kExtent;
    const bool doubles = c.operands[i].content == Content::kDouble;
    std::vector<std::byte>& bytes = memory.emplace_back(inputs[i].size() * (doubles ? 8 : 4));
    for (std::size_t k = 0; k < inputs[i].size(); ++k) {
      const auto real = static_cast<float>(inputs[i][k]);
      const std::int32_t whole = integers ? static_cast<std::int32_t>(inputs[i][k]) : 0;
      if (doubles) std::memcpy(bytes.data() + 8 * k, &inputs[i][k], 8);
      else if (integers) std::memcpy(bytes.data() + 4 * k, &whole, 4);
      else std::memcpy(bytes.data() + 4 * k, &real, 4);
    }
  }
  for (std::size_t i = 0; i < memory.size(); ++i) {
    views.push_back({memory[i].data(), Bytes(static_cast<std::int64_t>(memory[i].size())), c.operands[i].access});
  }
  const Kernel kernel{.kind = c.kind, .dtype = DType::kFp32, .shape = c.shape};
  const Recipe recipe = case_recipe();
  std::vector<std::byte> scratch(static_cast<std::size_t>(cuda::scratch_of(kernel).count) + 1);
  const LaunchContext context{.recipe = &recipe, .rope_scaling = c.rope_scaling, .step = kCaseStep};
  emulate({kernel, views, context, scratch.data()}, order);
  return memory;
}

std::vector<double> numbers(const CaseOperand& operand, const std::vector<std::byte>& bytes) {
  std::vector<double> values(static_cast<std::size_t>(operand.elements));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (operand.content == Content::kDouble) {
      std::memcpy(&values[i], bytes.data() + 8 * i, 8);
    } else {
      float value = 0;
      std::memcpy(&value, bytes.data() + 4 * i, 4);
      values[i] = value;
    }
  }
  return values;
}

std::vector<KernelCase> device_cases() {
  std::vector<KernelCase> cases;
  for (const KernelCase& c : all_cases()) {
    if (cuda::check_kernel({.kind = c.kind, .dtype = DType::kFp32, .shape = c.shape})) cases.push_back(c);
  }
  return cases;
}

}  // namespace

TEST_CASE("every program of the device agrees with the CPU's kernel to a few roundings") {
  REQUIRE(device_cases().size() > 50);
  for (const KernelCase& c : device_cases()) {
    CAPTURE(c.name);
    const Values inputs = random_values(c);
    const Values expected = run_case(c, inputs, DType::kFp64);
    const Memory found = emulate_case(c, inputs, Fibers::Order::kForward);
    for (std::size_t i = 0; i < c.operands.size(); ++i) {
      if (!writes(c.operands[i].access) || c.operands[i].content == Content::kScratch) continue;
      CAPTURE(i);
      CHECK(relative_distance(numbers(c.operands[i], found[i]), expected[i]) < 2e-6);
    }
  }
}

TEST_CASE("neither the order of blocks nor of threads between two barriers changes a bit") {
  for (const KernelCase& c : device_cases()) {
    CAPTURE(c.name);
    const Values inputs = random_values(c, 5);
    const Memory forward = emulate_case(c, inputs, Fibers::Order::kForward);
    const Memory backward = emulate_case(c, inputs, Fibers::Order::kBackward);
    for (std::size_t i = 0; i < c.operands.size(); ++i) {
      if (c.operands[i].content != Content::kScratch) CHECK((forward[i] == backward[i]));
    }
  }
}

TEST_CASE("a kernel without a program is refused by its name") {
  const auto refused = cuda::check_kernel({.kind = OpKind::kRouter, .dtype = DType::kFp32});
  REQUIRE(!refused);
  CHECK(refused.error().text().find("'router' in fp32") != std::string::npos);
  CHECK(!cuda::check_kernel({.kind = OpKind::kAdd, .dtype = DType::kFp64}));
  CHECK(!cuda::check_kernel({.kind = OpKind::kAttention, .dtype = DType::kFp32, .shape = {.head_dim = 256}}));
}

}  // namespace plimsoll::test
