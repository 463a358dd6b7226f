#include "sim/cost/catalogue_cost_model.h"

#include <catch2/catch.hpp>

#include "formats/machines/catalogue_platform.h"

using namespace plimsoll;

namespace {

Platform machine(std::string_view gpu, const MachineOptions& options = {}) {
  return gpu_platform(*find_gpu(built_in_gpu_catalogue(), gpu), options)->platform;
}

Kernel linear(DType dtype, std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
  return {.kind = OpKind::kLinear, .dtype = dtype, .shape = {.rows = rows, .inputs = inputs, .outputs = outputs}};
}

Kernel adamw(std::int64_t elements) {
  return {.kind = OpKind::kAdamW, .dtype = DType::kFp32, .shape = {.rows = elements}};
}

double seconds(const Result<Cost>& cost) {
  REQUIRE(cost);
  return to_seconds(cost->median);
}

const Processor& gpu0(const Platform& platform) { return platform.processors[0]; }
const Processor& cpu(const Platform& platform) { return platform.processors[1]; }

}  // namespace

TEST_CASE("a large product on an RTX 2060 runs at the median share of the other Turing consumer boards") {
  // 2 · 4096 · 1024 · 4096 = 34.36 GFLOP; shares 0.969, 0.999, 1.054 (RTX 2080, 2080 Ti, 2070); nominal 25.8 TFLOP/s:
  // 34.36e9 / (0.999 · 25.8e12) = 1.3331 ms, and 3.5 us to start.
  const auto cost = CatalogueCostModel().kernel(gpu0(machine("RTX 2060 6GB")), linear(DType::kFp16, 4096, 1024, 4096));
  CHECK(seconds(cost) == Approx(1.33659e-3).epsilon(1e-4));
  CHECK(cost->origin == CostOrigin::kExtrapolated);
  // −35 % and +10 % of the rate.
  CHECK(to_seconds(cost->high) == Approx(1.33659e-3 / 0.65).epsilon(1e-4));
  CHECK(to_seconds(cost->low) == Approx(1.33659e-3 / 1.10).epsilon(1e-4));
}

TEST_CASE("a product on an A100 runs at its own measured share less what a step costs it") {
  // 2 · 8192³ = 1.0995e12 FLOP; 0.851 · 0.88 · 312e12 = 233.65 TFLOP/s: 4.7058 ms, and 3.5 us to start.
  const auto cost =
      CatalogueCostModel().kernel(gpu0(machine("A100 80GB SXM4")), linear(DType::kBf16, 8192, 8192, 8192));
  CHECK(seconds(cost) == Approx(4.7093e-3).epsilon(1e-4));
  CHECK(cost->origin == CostOrigin::kCatalogue);
  CHECK(to_seconds(cost->high) == Approx(4.7093e-3 / 0.8).epsilon(1e-4));
}

TEST_CASE("a product on an H100 loses in a step what its architecture was seen to lose") {
  // 2 · 8192³ = 1.0995e12 FLOP; 0.803 · 0.88 · 989.4e12 = 699.15 TFLOP/s: 1.57263 ms, and 3.5 us to start.
  const auto cost =
      CatalogueCostModel().kernel(gpu0(machine("H100 SXM5 80GB")), linear(DType::kBf16, 8192, 8192, 8192));
  CHECK(seconds(cost) == Approx(1.57613e-3).epsilon(1e-4));
}

TEST_CASE("an update by Muon takes its launches' time however small its matrices are, on a GPU") {
  // A matrix: five launches of each of five Newton-Schulz steps and five more; three matrices of 16 x 16 are nothing beside 90 of 3.5 us.
  const Kernel muon{.kind = OpKind::kMuon, .dtype = DType::kBf16, .shape = {.rows = 48, .inputs = 16, .terms = 3}};
  CHECK(seconds(CatalogueCostModel().kernel(gpu0(machine("H100 SXM5 80GB")), muon)) == Approx(315e-6).epsilon(0.01));
  CHECK(seconds(CatalogueCostModel().kernel(cpu(machine("H100 SXM5 80GB")), muon)) < 100e-6);
}

TEST_CASE("a product whose rows are no whole 16 bytes is loaded one number at a time, unless its results lie in wider rows") {
  // 2 · 8192 · 4096 · 50257 = 3.3727e12 FLOP; 19.5e12 / 128 clocks of 482 FLOP: 73.43 TFLOP/s: 45.931 ms, and 3.5 us to start.
  const Processor a100 = gpu0(machine("A100 80GB SXM4"));
  Kernel logits = linear(DType::kBf16, 8192, 4096, 50257);
  CHECK(seconds(CatalogueCostModel().kernel(a100, logits)) == Approx(45.934e-3).epsilon(1e-4));
  // In rows of 50264: 0.851 · 0.88 · 312e12.
  logits.shape.stride = 50264;
  CHECK(seconds(CatalogueCostModel().kernel(a100, logits)) == Approx(14.438e-3).epsilon(1e-3));
  logits.dtype = DType::kFp32;
  logits.shape.stride = 0;
  const double odd = seconds(CatalogueCostModel().kernel(a100, logits));
  logits.shape.outputs = 50264;
  CHECK(odd == Approx(seconds(CatalogueCostModel().kernel(a100, logits))).epsilon(2e-4));
}

TEST_CASE("a thin product is bound by its traffic") {
  // 1 row of 4096 × 4096 in fp16: 2 · (4096 + 4096² + 4096) = 33.57 MB at 0.8 · 336 GB/s = 124.9 us, and 3.5 us to
  // start.
  const auto cost = CatalogueCostModel().kernel(gpu0(machine("RTX 2060 6GB")), linear(DType::kFp16, 1, 4096, 4096));
  CHECK(seconds(cost) == Approx(128.39e-6).epsilon(1e-3));
}

TEST_CASE("streaming kernels run at the bandwidth measured on their board") {
  const Kernel add{.kind = OpKind::kAdd, .dtype = DType::kFp32, .shape = {.rows = 1 << 14, .inputs = 1 << 10}};
  // 3 · 4 · 2^24 = 201.3 MB; A100-80: scale 0.852, triad 0.880, median 0.866 of 2039 GB/s: 114.0 us, and 3.5 us to
  // start.
  const auto known = CatalogueCostModel().kernel(gpu0(machine("A100 80GB SXM4")), add);
  CHECK(seconds(known) == Approx(117.5e-6).epsilon(1e-3));
  CHECK(known->origin == CostOrigin::kCatalogue);
  // RTX 2060: 0.85 of 336 GB/s: 704.9 us.
  const auto similar = CatalogueCostModel().kernel(gpu0(machine("RTX 2060 6GB")), add);
  CHECK(seconds(similar) == Approx(708.4e-6).epsilon(1e-3));
  CHECK(similar->origin == CostOrigin::kExtrapolated);
}

TEST_CASE("the CPU's optimizer is bound by DRAM: 1.2 Gparam/s on dual-channel DDR4") {
  // 1e9 elements · 28 B / (0.75 · 46 GB/s) = 0.8116 s.
  const auto cost = CatalogueCostModel().kernel(cpu(machine("RTX 2060 6GB")), adamw(1'000'000'000));
  CHECK(seconds(cost) == Approx(0.8116).epsilon(1e-3));
  CHECK(cost->origin == CostOrigin::kExtrapolated);
}

TEST_CASE("a transfer takes the link's latency and its bytes at the link's rate") {
  const auto platform = machine("RTX 2060 6GB", {.ssd = 1024 * kGiB});
  // 256 MiB / 12.285 GB/s = 21.850 ms, and 10 us.
  const auto copy = CatalogueCostModel().transfer(platform, platform.links[0], 256 * kMiB);
  CHECK(seconds(copy) == Approx(21.860e-3).epsilon(1e-4));
  CHECK(copy->origin == CostOrigin::kCatalogue);
  // 256 MiB / 3.5 GB/s = 76.70 ms, and 90 us.
  const auto read = CatalogueCostModel().transfer(platform, platform.links[2], 256 * kMiB);
  CHECK(seconds(read) == Approx(76.79e-3).epsilon(1e-3));
  CHECK(read->origin == CostOrigin::kExtrapolated);
}

TEST_CASE("a type without units is refused by name") {
  const auto bf16 = CatalogueCostModel().kernel(gpu0(machine("RTX 2060 6GB")), linear(DType::kBf16, 64, 64, 64));
  REQUIRE_FALSE(bf16);
  CHECK(bf16.error().kind == ErrorKind::kUncalibrated);
  CHECK(bf16.error().what == "gpu0 (RTX 2060 6GB) has no known bf16 rate for linear bf16 rows=64 inputs=64 outputs=64");
  CHECK_FALSE(CatalogueCostModel().kernel(gpu0(machine("GTX 1080 Ti")), linear(DType::kFp16, 64, 64, 64)));
  CHECK_FALSE(CatalogueCostModel().kernel(gpu0(machine("RTX 3090")), linear(DType::kFp64, 64, 64, 64)));
  // Nothing says how fast the catalogue's CPU multiplies matrices.
  CHECK_FALSE(CatalogueCostModel().kernel(cpu(machine("RTX 2060 6GB")), linear(DType::kFp32, 64, 64, 64)));
}

TEST_CASE("rates and sizes that make no sense are refused, never timed") {
  auto platform = machine("RTX 3090");
  platform.processors[0].bytes_per_second = 0;
  CHECK_FALSE(CatalogueCostModel().kernel(gpu0(platform), adamw(10)));
  platform.processors[0].bytes_per_second = 1e-300;
  CHECK_FALSE(CatalogueCostModel().kernel(gpu0(platform), adamw(1'000'000'000)));
  platform.links[0].bytes_per_second = 0;
  CHECK_FALSE(CatalogueCostModel().transfer(platform, platform.links[0], kMiB));
  CHECK_FALSE(CatalogueCostModel().transfer(platform, platform.links[1], Bytes(-1)));
  CHECK_FALSE(CatalogueCostModel().host_work(cpu(platform), HostTask::kNone, kMiB));
}

TEST_CASE("a board that nobody catalogued gets an estimate that is marked") {
  auto platform = machine("A100 80GB SXM4");
  platform.processors[0].calibration_name = "home-made";
  const auto cost = CatalogueCostModel().kernel(gpu0(platform), linear(DType::kBf16, 1024, 1024, 1024));
  REQUIRE(cost);
  CHECK(cost->origin == CostOrigin::kExtrapolated);
}

TEST_CASE("every catalogued board has a cost for each kernel of its default precision") {
  for (const auto& gpu : built_in_gpu_catalogue()) {
    const auto platform = gpu_platform(gpu)->platform;
    const DType dtype = compute_dtype(default_precision(gpu).precision);
    for (int kind = 0; kind <= static_cast<int>(OpKind::kShareRouting); ++kind) {
      const Kernel kernel{.kind = static_cast<OpKind>(kind),
                          .dtype = dtype,
                          .shape = {.rows = 1024,
                                    .inputs = 768,
                                    .outputs = 768,
                                    .sequence = 512,
                                    .heads = 12,
                                    .kv_heads = 12,
                                    .head_dim = 64}};
      INFO(gpu.name << " " << to_text(kernel.kind));
      CHECK(CatalogueCostModel().kernel(platform.processors[0], kernel));
    }
  }
}
