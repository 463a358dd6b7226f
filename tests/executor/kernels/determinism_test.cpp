#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/executor/kernels/kernel_case.h"

namespace plimsoll::test {
namespace {

constexpr std::array<MatmulLibrary, 2> kLibraries{MatmulLibrary::kOneDnn, MatmulLibrary::kOpenBlas};

bool same_bits(const Values& a, const Values& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].empty() && std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(double)) != 0) return false;
  }
  return true;
}

TEST_CASE("no kernel changes a bit with the number of workers or the order of its tasks") {
  for (const KernelCase& kernel_case : all_cases()) {
    const Values inputs = random_values(kernel_case);
    for (const DType dtype : {DType::kFp32, DType::kFp64, DType::kBf16, DType::kFp16}) {
      for (const MatmulLibrary library : kLibraries) {
        const Values alone = run_case(kernel_case, inputs, dtype, {.workers = 1, .library = library});
        for (const std::int64_t workers : {1, 2, 3}) {
          for (const std::int64_t shuffle : {0, 5}) {
            INFO(kernel_case.name << ", " << workers << " workers, shuffle " << shuffle);
            CHECK(same_bits(alone, run_case(kernel_case, inputs, dtype, {workers, shuffle, library})));
          }
        }
      }
    }
  }
}

TEST_CASE("kernels write every element of their outputs and read none of them before") {
  // What is only written starts as NaN.
  for (const KernelCase& kernel_case : all_cases()) {
    for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kFp16}) {
      for (const std::vector<double>& operand : run_case(kernel_case, random_values(kernel_case), dtype)) {
        std::int64_t not_a_number = 0;
        for (const double x : operand) not_a_number += x != x;
        INFO(kernel_case.name << " in " << to_text(dtype));
        CHECK(not_a_number == 0);
      }
    }
  }
}

TEST_CASE("fp32 kernels agree with fp64 kernels to a few roundings") {
  // Norms of the differences of whole operands; single roundings are 6e-8, sums of a few hundred terms stay below 1e-6.
  double worst = 0;
  for (const KernelCase& kernel_case : all_cases()) {
    const Values inputs = random_values(kernel_case);
    const Values single = run_case(kernel_case, inputs, DType::kFp32);
    const Values reference = run_case(kernel_case, inputs, DType::kFp64);
    for (std::size_t i = 0; i < single.size(); ++i) {
      INFO(kernel_case.name << ", operand " << i);
      const double distance = relative_distance(single[i], reference[i]);
      CHECK(distance < 1e-6);
      worst = std::max(worst, distance);
    }
  }
  CHECK(worst > 0);
}

TEST_CASE("the backend has every kernel in fp32, fp64, bf16 and fp16 and refuses others by name") {
  for (const KernelCase& kernel_case : all_cases()) {
    for (const DType dtype : {DType::kFp32, DType::kFp64, DType::kBf16, DType::kFp16}) {
      CHECK(supports({.kind = kernel_case.kind, .dtype = dtype, .shape = kernel_case.shape}));
    }
  }
  const Kernel byte{.kind = OpKind::kLinear, .dtype = DType::kUint8, .shape = {}};
  CHECK_FALSE(supports(byte));
  CHECK_THROWS_AS(launch(byte, {}, {}), EnvironmentError);
}

}  // namespace
}  // namespace plimsoll::test
