#include "sim/cost/calibrate.h"

#include <catch2/catch.hpp>

#include "core/platform/cpu_workers.h"
#include "sim/cost/catalogue_cost_model.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;

namespace {

Kernel add(std::int64_t rows) {
  return {.kind = OpKind::kAdd, .dtype = DType::kFp32, .shape = {.rows = rows, .inputs = 256}};
}

/// Kernels of `rows` rows that take 1000 ns and 2 ns a row, four times each; the first one twice as long.
std::vector<Sample> samples(const Processor& processor, const std::vector<std::int64_t>& rows) {
  std::vector<Sample> samples;
  for (int run = 0; run < 4; ++run) {
    for (const auto r : rows) {
      const Nanoseconds time((1000 + 2 * r) * (run == 0 ? 2 : 1));
      samples.push_back({.key = kernel_key(processor, add(r)), .duration = time, .plan_digest = "warm-up plan"});
    }
  }
  return samples;
}

Calibration calibrated(const std::vector<Sample>& measured) {
  return calibrate(measured, std::make_shared<CatalogueCostModel>());
}

}  // namespace

TEST_CASE("a measured key is answered with its median and marked measured") {
  const auto platform = test::tiny_platform();
  const auto& gpu = platform.processors[0];
  const auto cost = calibrated(samples(gpu, {100, 200, 400})).model->kernel(gpu, add(200));
  REQUIRE(cost);
  CHECK(cost->median == Nanoseconds(1400));
  CHECK(cost->origin == CostOrigin::kMeasured);
  // Three samples are too few for a spread of their own: the rate is known to 10 %: 1400 / 1.1 and 1400 / 0.9.
  CHECK(cost->low == Nanoseconds(1273));
  CHECK(cost->high == Nanoseconds(1556));
}

TEST_CASE("another size of a measured kind is answered by the fitted rates and marked extrapolated") {
  const auto platform = test::tiny_platform();
  const auto& gpu = platform.processors[0];
  const auto cost = calibrated(samples(gpu, {100, 200, 400})).model->kernel(gpu, add(1000));
  REQUIRE(cost);
  CHECK(cost->median.count == Approx(3000).epsilon(1e-3));
  CHECK(cost->origin == CostOrigin::kExtrapolated);
}

TEST_CASE("a product of one tile takes two workers as long as one, and rates fitted on many tiles know it") {
  Processor cpu{.name = "cpu", .kind = ProcessorKind::kCpu, .calibration_name = cpu_calibration_name("Test CPU", 2)};
  const auto product = [](std::int64_t rows, std::int64_t outputs) {
    return Kernel{.kind = OpKind::kLinear, .dtype = DType::kFp32, .shape = {.rows = rows, .inputs = 1024, .outputs = outputs}};
  };
  // A worker takes 1 ms for a tile of 256 x 384 with 1024 inputs; 2, 4 and 6 tiles on two workers take 1, 2 and 3 rounds.
  std::vector<Sample> measured;
  for (const std::int64_t rounds : {1, 2, 3}) {
    for (int run = 0; run < 3; ++run) {
      measured.push_back({.key = kernel_key(cpu, product(512 * rounds, 384)), .duration = Nanoseconds(1'000'000 * rounds)});
    }
  }
  const auto model = calibrated(measured).model;
  CHECK(model->kernel(cpu, product(256, 384))->median.count == Approx(1'000'000).epsilon(0.01));
  CHECK(model->kernel(cpu, product(128, 384))->median.count == Approx(500'000).epsilon(0.01));
  CHECK(model->kernel(cpu, product(768, 384))->median.count == Approx(2'000'000).epsilon(0.01));  // 3 tiles: two rounds
}

TEST_CASE("what was never run is answered by the fallback, with the fallback's origin and refusals") {
  const auto platform = test::tiny_platform();
  const auto& gpu = platform.processors[0];
  const auto calibration = calibrated(samples(gpu, {100, 200}));
  const CatalogueCostModel catalogue;
  const Kernel norm{.kind = OpKind::kNorm, .dtype = DType::kFp32, .shape = {.rows = 64, .inputs = 64}};
  CHECK(calibration.model->kernel(gpu, norm)->median == catalogue.kernel(gpu, norm)->median);
  CHECK(calibration.model->transfer(platform, platform.links[0], kMiB)->median ==
        catalogue.transfer(platform, platform.links[0], kMiB)->median);
  const Kernel fp64{.kind = OpKind::kLinear, .dtype = DType::kFp64, .shape = {.rows = 64, .inputs = 64, .outputs = 64}};
  REQUIRE_FALSE(calibration.model->kernel(gpu, fp64));
  CHECK(calibration.model->kernel(gpu, fp64).error().kind == ErrorKind::kUncalibrated);
  // The other processor was not measured.
  CHECK(calibration.model->kernel(platform.processors[1], add(100))->median ==
        catalogue.kernel(platform.processors[1], add(100))->median);
}

TEST_CASE("two sizes of a link make its latency and its rate") {
  const auto platform = test::tiny_platform();
  const auto& link = platform.links[0];
  std::vector<Sample> measured;
  for (int run = 0; run < 3; ++run) {
    for (const std::int64_t bytes : {100'000, 1'000'000}) {
      measured.push_back(
          {.key = transfer_key(platform, link, Bytes(bytes)), .duration = Nanoseconds(20'000 + bytes / 5)});
    }
  }
  // 20 us + 500,000 B / 5 GB/s = 120 us.
  const auto cost = calibrated(measured).model->transfer(platform, link, Bytes(500'000));
  REQUIRE(cost);
  CHECK(cost->median.count == Approx(120'000).epsilon(1e-3));
}

TEST_CASE("the issue overhead is the median gap where one was measured, else the fallback's") {
  const auto platform = test::tiny_platform();
  std::vector<Sample> measured;
  for (const std::int64_t ns : {50'000, 7000, 8000, 9000})
    measured.push_back({.key = issue_key(platform, QueueKind::kCompute), .duration = Nanoseconds(ns)});
  const auto model = calibrated(measured).model;
  CHECK(model->issue_overhead(platform, QueueKind::kCompute) == Nanoseconds(8000));
  CHECK(model->issue_overhead(platform, QueueKind::kCopy) ==
        CatalogueCostModel().issue_overhead(platform, QueueKind::kCopy));
}

TEST_CASE("issue gaps measured on one machine say nothing about another") {
  const auto here = test::tiny_platform();
  auto elsewhere = here;
  elsewhere.name = "elsewhere";
  const std::vector<Sample> measured{
      {.key = issue_key(here, QueueKind::kCompute), .duration = Nanoseconds(8000)},
      {.key = issue_key(here, QueueKind::kCompute), .duration = Nanoseconds(8000)}};
  const auto model = calibrated(measured).model;
  CHECK(model->issue_overhead(here, QueueKind::kCompute) == Nanoseconds(8000));
  CHECK(model->issue_overhead(elsewhere, QueueKind::kCompute) ==
        CatalogueCostModel().issue_overhead(elsewhere, QueueKind::kCompute));
}

TEST_CASE("a calibrated model names its source and the plans it was made of") {
  const auto platform = test::tiny_platform();
  const auto calibration = calibrated(samples(platform.processors[0], {100, 200}));
  CHECK(calibration.model->sample_plans() == std::vector<std::string>{"warm-up plan"});
  CHECK(calibration.count.samples == 8);
  CHECK(calibration.model->source().find("calibrated on 8 samples of 2 costs (2 warm-up left out") == 0);
  CHECK(calibrated({}).model->sample_plans().empty());
}
