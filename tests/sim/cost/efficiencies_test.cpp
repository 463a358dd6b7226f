#include "sim/cost/efficiencies.h"

#include <catch2/catch.hpp>
#include <random>

#include "sim/cost/efficiency_rows.h"
#include "sim/cost/embedded_calibration.h"

using namespace plimsoll;

namespace {

GpuEntry gpu(std::string_view name) { return *find_gpu(built_in_gpu_catalogue(), name); }

}  // namespace

TEST_CASE("a board's own row comes before those of its relatives") {
  CHECK(product_efficiency(gpu("RTX 3090"), DType::kBf16)->share == 1.076);
  CHECK(product_efficiency(gpu("RTX 3090"), DType::kBf16)->origin == CostOrigin::kCatalogue);
  // Turing consumer boards in fp32: 0.857, 0.917, 1.058.
  CHECK(product_efficiency(gpu("RTX 2060 6GB"), DType::kFp32)->share == 0.917);
  CHECK(product_efficiency(gpu("RTX 2060 6GB"), DType::kFp32)->origin == CostOrigin::kExtrapolated);
  CHECK(product_efficiency(gpu("RTX 2060 6GB Max-Q"), DType::kFp32)->share == 0.917);
  CHECK_FALSE(product_efficiency(gpu("RTX 3090"), DType::kFp64));
}

TEST_CASE("What a board without measurements reaches is that of its like, not of boards at a slot's power limit") {
  // Quadro RTX 8000: fp32 as on GeForce boards of Turing, fp16 as on other workstation boards; the T4 would say 0.46 and 0.61.
  CHECK(product_efficiency(gpu("Quadro RTX 8000"), DType::kFp32)->share == 0.917);
  CHECK(product_efficiency(gpu("Quadro RTX 8000"), DType::kFp16)->share > 0.68);
  CHECK(product_efficiency(gpu("T4"), DType::kFp32)->share == 0.462);
}

TEST_CASE("A board whose power holds its clock down keeps its base clock's share of matrix units, and all of fp32") {
  // 585 of 1590 MHz and 795 of 2040, times what products keep at any clock.
  CHECK(*sustained_share("T4", DType::kFp16) == Approx(0.88 * 585 / 1590).epsilon(0.005));
  CHECK(*sustained_share("L4", DType::kBf16) == Approx(0.88 * 795 / 2040).epsilon(0.005));
  CHECK(!sustained_share("L4", DType::kFp32));
  CHECK(!sustained_share("L40S", DType::kBf16));
}

TEST_CASE("two runs of one board that contradict each other are not believed") {
  // RTX 3080 10GB in bf16: two samples, best 1.086, median 0.753.
  CHECK(product_efficiency(gpu("RTX 3080 10GB"), DType::kBf16)->origin == CostOrigin::kExtrapolated);
  CHECK(product_efficiency(gpu("RTX 3080 10GB"), DType::kBf16)->share > 0.9);
}

TEST_CASE("attention gains with sequence and head size between the measured ends, and no further") {
  const auto share = [](std::int64_t sequence, std::int64_t head_dim) {
    return attention_efficiency(gpu("A100 80GB SXM4"), DType::kBf16, sequence, head_dim, false)->share;
  };
  CHECK(share(512, 64) == Approx(0.282));
  CHECK(share(8192, 64) == Approx(0.529));
  CHECK(share(64, 32) == Approx(0.282));
  CHECK(share(65536, 256) == Approx(0.583));
  // 2048 is half of the way from 512 to 8192 in the logarithm: (0.282 + 0.529) / 2.
  CHECK(share(2048, 64) == Approx(0.4055));
  // Head size 96 is half of the way from 64 to 128: (0.282 + 0.317) / 2.
  CHECK(share(512, 96) == Approx(0.2995));
}

TEST_CASE("attention without FlashAttention-2 runs at what memory-efficient attention reached") {
  const auto turing = attention_efficiency(gpu("RTX 2060 6GB"), DType::kFp16, 1024, 64, false);
  REQUIRE(turing);
  CHECK(turing->share == 0.28);
  CHECK(turing->origin == CostOrigin::kExtrapolated);
  CHECK(attention_efficiency(gpu("A100 80GB SXM4"), DType::kFp32, 1024, 64, true)->share == 0.25);
}

TEST_CASE("cuDNN's attention has its own measurements where there are some, and is told as FlashAttention elsewhere") {
  const auto share = [](std::string_view name, bool backward, FusedAttention kernel) {
    return attention_efficiency(gpu(name), DType::kBf16, 8192, 128, backward, kernel)->share;
  };
  CHECK(share("H100 SXM5 80GB", false, FusedAttention::kFlash) == Approx(0.337));
  CHECK(share("H100 SXM5 80GB", false, FusedAttention::kCudnn) == Approx(0.535));
  CHECK(share("H100 SXM5 80GB", true, FusedAttention::kCudnn) == Approx(0.462));
  CHECK(share("A100 80GB SXM4", false, FusedAttention::kCudnn) == share("A100 80GB SXM4", false, FusedAttention::kFlash));
}

TEST_CASE("FlashAttention 3 is faster than FlashAttention 2 on Hopper at every length and head size, and told as that elsewhere") {
  const auto share = [](std::string_view name, std::int64_t sequence, std::int64_t head_dim, bool backward, FusedAttention kernel) {
    return attention_efficiency(gpu(name), DType::kBf16, sequence, head_dim, backward, kernel)->share;
  };
  for (const std::int64_t sequence : {512, 2048, 8192}) {
    for (const std::int64_t head_dim : {64, 128}) {
      for (const bool backward : {false, true}) {
        const auto on = [&](std::string_view name, FusedAttention kernel) { return share(name, sequence, head_dim, backward, kernel); };
        CHECK(on("H100 SXM5 80GB", FusedAttention::kFlash3) > on("H100 SXM5 80GB", FusedAttention::kFlash));
        CHECK(on("A100 80GB SXM4", FusedAttention::kFlash3) == on("A100 80GB SXM4", FusedAttention::kFlash));
      }
    }
  }
  CHECK(share("H100 SXM5 80GB", 8192, 128, false, FusedAttention::kFlash3) == Approx(0.608));
}

TEST_CASE("an interval contains its median and is wider the farther the measurement") {
  const auto measured = cost_of(1.0, CostOrigin::kMeasured);
  const auto catalogue = cost_of(1.0, CostOrigin::kCatalogue);
  const auto extrapolated = cost_of(1.0, CostOrigin::kExtrapolated);
  for (const auto& cost : {measured, catalogue, extrapolated})
    CHECK((cost.low < cost.median && cost.median < cost.high));
  CHECK(measured.high < catalogue.high);
  CHECK(catalogue.high < extrapolated.high);
  CHECK(cost_of(0.0, CostOrigin::kMeasured).low == Nanoseconds(1));
}

TEST_CASE("efficiency tables refuse shares that are none, and survive damage") {
  CHECK(read_bandwidth_rows("gpu,op,fraction\nX,read(1R),0.9\n", "m.csv"));
  CHECK(read_bandwidth_rows("gpu,op,fraction\nX,read(1R),90\n", "m.csv").error().where == "m.csv:2");
  CHECK_FALSE(read_bandwidth_rows("gpu,op,fraction\nX,read(1R),0\n", "m.csv"));
  CHECK_FALSE(read_bandwidth_rows("gpu,op\nX,read(1R)\n", "m.csv"));
  const std::string whole(embedded_calibration("data/calibration/attention_efficiency.csv"));
  REQUIRE(read_attention_rows(whole, "whole"));
  std::mt19937 random(5);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text = whole.substr(0, random() % whole.size());
    if (!text.empty()) text[random() % text.size()] = static_cast<char>(random() % 256);
    const auto rows = read_attention_rows(text, "fuzz");
    refused += rows ? 0 : 1;
    if (rows) {
      for (const auto& row : *rows) REQUIRE((row.at_512 > 0 && row.at_8192 > 0));
    }
  }
  CHECK(refused > 100);
}
