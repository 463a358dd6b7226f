#include "core/platform/check_precision.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

namespace {

Processor turing() {
  return {.name = "gpu0", .fp32_flops = 6.5e12, .fp16_flops = 25.8e12, .calibration_name = "RTX 2060 6GB"};
}

}  // namespace

TEST_CASE("a GPU without units for a precision is refused by its name, with what it has instead") {
  for (const Precision bf16 : {Precision::kBf16Mixed, Precision::kBf16}) {
    const auto able = check_precision(turing(), bf16);
    REQUIRE_FALSE(able);
    CHECK(able.error().what == "RTX 2060 6GB has no matrix units for bf16, or none whose rate is known");
    CHECK(able.error().remedy == "use --precision fp16-mixed, or fp32");
  }
  CHECK_THAT(check_precision(turing(), Precision::kTf32).error().text(), Catch::Contains("tf32"));
  Processor pascal = turing();
  pascal.fp16_flops = 0;
  CHECK(check_precision(pascal, Precision::kFp16Mixed).error().remedy == "use --precision fp32");
}

TEST_CASE("what a GPU has units for is taken, and fp32 always") {
  CHECK(check_precision(turing(), Precision::kFp32));
  CHECK(check_precision(turing(), Precision::kFp16Mixed));
  Processor ampere = turing();
  ampere.bf16_flops = ampere.tf32_flops = 1e13;
  for (const Precision precision : {Precision::kBf16Mixed, Precision::kBf16, Precision::kTf32}) CHECK(check_precision(ampere, precision));
}

TEST_CASE("a CPU computes every precision but tf32") {
  const Processor cpu{.name = "cpu", .kind = ProcessorKind::kCpu};
  for (const Precision precision : {Precision::kFp32, Precision::kFp64, Precision::kBf16, Precision::kFp16Mixed}) {
    CHECK(check_precision(cpu, precision));
  }
  CHECK_FALSE(check_precision(cpu, Precision::kTf32));
}
