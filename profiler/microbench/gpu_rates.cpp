#include "profiler/microbench/gpu_rates.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

/// Widths of the matrices of a layer at 4096 tokens: projections of GPT-2 124M, GPT-2 1.5B and Llama 8B.
std::vector<ProductShape> usual_products(const BenchDevice& device) {
  std::vector<ProductShape> shapes;
  for (const DType dtype : {DType::kFp32, DType::kFp16, DType::kBf16}) {
    if (!device.knows(dtype)) continue;
    for (const auto& [n, k] :
         {std::pair<std::int64_t, std::int64_t>{768, 768}, {3072, 768}, {1600, 1600}, {6400, 1600}, {4096, 4096}, {14336, 4096}})
      shapes.push_back({.dtype = dtype, .m = 4096, .n = n, .k = k});
  }
  return shapes;
}

GpuRate measure_product(BenchDevice& device, const ProductShape& shape, const SustainOptions& options) {
  device.prepare(shape);
  return {.work = fmt::format("product {} {}x{}x{}", to_text(shape.dtype), shape.m, shape.n, shape.k),
          .amount = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k),
          .is_product = true,
          .sustained = sustain([&](std::int64_t count) { return device.multiply(count); }, options)};
}

GpuRate measure_copy(BenchDevice& device, CopyDirection direction, Bytes bytes, bool other_busy, const SustainOptions& options) {
  const char* const way = direction == CopyDirection::kUp ? "up" : "down";
  const char* const other = direction == CopyDirection::kUp ? "down" : "up";
  return {.work = fmt::format("copy {} {}{}", way, to_text(bytes), other_busy ? fmt::format(" beside copy {}", other) : ""),
          .amount = static_cast<double>(bytes.count),
          .is_product = false,
          .sustained = sustain([&](std::int64_t count) { return device.copy(direction, bytes, other_busy, count); }, options)};
}

/// Tells how far it is, one measurement after another.
class Progress {
 public:
  Progress(const std::function<void(double)>& tell, std::size_t all) : tell_(tell), all_(all) {}
  void one_more() {
    ++done_;
    if (tell_) tell_(static_cast<double>(done_) / static_cast<double>(all_));
  }

 private:
  const std::function<void(double)>& tell_;
  std::size_t all_;
  std::size_t done_ = 0;
};

}  // namespace

std::vector<GpuRate> measure_gpu_rates(BenchDevice& device, const GpuRatesOptions& options) {
  const std::vector<ProductShape> products = options.products.empty() ? usual_products(device) : options.products;
  const std::vector<Bytes> copies = options.copies.empty() ? std::vector<Bytes>{kMiB, 16 * kMiB, 256 * kMiB} : options.copies;
  const bool loaded = static_cast<bool>(options.optimizer.start);
  Progress progress(options.progress, products.size() + copies.size() * (loaded ? 6 : 4));
  std::vector<GpuRate> rates;
  const auto keep = [&](GpuRate rate) {
    rates.push_back(std::move(rate));
    progress.one_more();
  };
  for (const ProductShape& shape : products) keep(measure_product(device, shape, options.sustain));
  for (const Bytes bytes : copies) {
    for (const CopyDirection direction : {CopyDirection::kUp, CopyDirection::kDown}) {
      for (const bool busy : {false, true}) keep(measure_copy(device, direction, bytes, busy, options.sustain));
      if (!loaded) continue;
      options.optimizer.start();
      GpuRate beside = measure_copy(device, direction, bytes, false, options.sustain);
      beside.host_bytes_per_second = options.optimizer.stop();
      beside.work += " beside the CPU's Adam";
      keep(std::move(beside));
    }
  }
  return rates;
}

std::string gpu_rates_csv(const std::string& device, const std::vector<GpuRate>& rates) {
  std::string csv =
      "device,work,rate,unit,seconds_median,seconds_low,seconds_high,sustained_seconds,pieces,slowdown,host_gbs,origin\n";
  for (const GpuRate& rate : rates) {
    const Spread& seconds = rate.sustained.seconds;
    csv += fmt::format("\"{}\",{},{:.4g},{},{:.6g},{:.6g},{:.6g},{:.3f},{},{:.4f},{:.4g},measured\n", device, rate.work,
                       rate.rate() * (rate.is_product ? 1e-12 : 1e-9), rate.is_product ? "TFLOP/s" : "GB/s", seconds.median,
                       seconds.low, seconds.high, rate.sustained.total_seconds, rate.sustained.pieces, rate.sustained.slowdown,
                       rate.host_bytes_per_second * 1e-9);
  }
  return csv;
}

}  // namespace plimsoll
