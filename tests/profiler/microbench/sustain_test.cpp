#include "profiler/microbench/sustain.h"

#include <catch2/catch.hpp>

#include "profiler/microbench/gpu_rates.h"

namespace plimsoll::test {
namespace {

/// A device on a clock of its own: products take 1 ms, copies 10 GB/s (half of that beside the other direction).
class FakeDevice : public BenchDevice {
 public:
  [[nodiscard]] std::string name() const override { return "fake"; }
  [[nodiscard]] bool knows(DType dtype) const override { return dtype == DType::kFp16; }
  void prepare(const ProductShape& shape) override { prepared = shape; }
  double multiply(std::int64_t count) override { return spend(1e-3 * static_cast<double>(count)); }
  double copy(CopyDirection, Bytes bytes, bool other_busy, std::int64_t count) override {
    return spend(static_cast<double>(bytes.count * count) / (other_busy ? 5e9 : 10e9) * (loaded ? 2 : 1));
  }

  ProductShape prepared;
  double spent = 0;
  bool loaded = false;

 private:
  double spend(double seconds) {
    spent += seconds;
    return seconds;
  }
};

}  // namespace

TEST_CASE("a signature is measured for two and a half seconds after its warm-up") {
  for (const double piece : {1e-6, 1e-3, 0.2, 7.0}) {
    double spent = 0;
    const Sustained sustained = sustain([&](std::int64_t count) {
      spent += piece * static_cast<double>(count);
      return piece * static_cast<double>(count);
    });
    INFO("pieces of " << piece << " s");
    CHECK(sustained.total_seconds >= 2.5 - 1e-9);
    CHECK(sustained.total_seconds < 2.5 + std::max(0.1, piece));
    CHECK(spent >= sustained.total_seconds + 0.5 - 1e-9);
    CHECK(sustained.seconds.median == Approx(piece));
    CHECK(sustained.slowdown == Approx(1));
  }
}

TEST_CASE("a device that slows down while it is measured is said to") {
  double spent = 0;
  const Sustained sustained = sustain([&](std::int64_t count) {
    const double seconds = (spent < 1.5 ? 1e-3 : 1.25e-3) * static_cast<double>(count);  // after 1.5 s it throttles
    spent += seconds;
    return seconds;
  });
  CHECK(sustained.slowdown == Approx(1.25));
  CHECK(sustained.seconds.low < sustained.seconds.high);
}

TEST_CASE("work that takes no time ends all the same") {
  const Sustained sustained = sustain([](std::int64_t) { return 0.0; }, {.most_pieces = 100});
  CHECK(sustained.pieces > 0);
  CHECK(sustained.seconds.median == 0);
}

TEST_CASE("rates are those of each direction, alone, beside the other, and beside the CPU's optimizer") {
  FakeDevice device;
  double last_share = 0;
  GpuRatesOptions options{.products = {{.dtype = DType::kFp16, .m = 1000, .n = 1000, .k = 500}}, .copies = {16 * kMiB}};
  options.optimizer = {.start = [&] { device.loaded = true; }, .stop = [&] {
                         device.loaded = false;
                         return 20e9;
                       }};
  options.progress = [&](double share) { last_share = share; };
  const auto rates = measure_gpu_rates(device, options);
  REQUIRE(rates.size() == 7);
  CHECK(rates[0].rate() == Approx(1e9 / 1e-3));  // 2 · 1000 · 1000 · 500 operations in 1 ms
  CHECK(rates[1].work == "copy up 16.0 MiB");
  CHECK(rates[1].rate() == Approx(10e9));
  CHECK(rates[2].work == "copy up 16.0 MiB beside copy down");
  CHECK(rates[2].rate() == Approx(5e9));
  CHECK(rates[3].work == "copy up 16.0 MiB beside the CPU's Adam");
  CHECK(rates[3].rate() == Approx(5e9));
  CHECK(rates[3].host_bytes_per_second == 20e9);
  CHECK(rates[4].rate() == Approx(10e9));
  CHECK_FALSE(device.loaded);
  CHECK(last_share == 1);
  for (const GpuRate& rate : rates) CHECK(rate.sustained.total_seconds >= 2.5 - 1e-9);
  const std::string csv = gpu_rates_csv("fake", rates);
  CHECK(csv.find("\"fake\",product fp16 1000x1000x500,1,TFLOP/s,0.001,") != std::string::npos);
  CHECK(csv.find(",measured\n") != std::string::npos);
}

TEST_CASE("products are measured in the types that the device knows") {
  FakeDevice device;
  const auto rates = measure_gpu_rates(device, {.sustain = {.least_seconds = 0.1, .warm_up_seconds = 0}, .copies = {kMiB}});
  CHECK(rates.size() == 6 + 4);
  CHECK(device.prepared.dtype == DType::kFp16);
}

}  // namespace plimsoll::test
