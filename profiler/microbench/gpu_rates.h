#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profiler/microbench/bench_device.h"
#include "profiler/microbench/sustain.h"

namespace plimsoll {

/// What the host does besides, while a GPU is measured. Called before and after the measurement that it is to disturb.
struct HostLoad {
  std::function<void()> start;
  std::function<double()> stop;  ///< gives the bytes a second that it read and wrote meanwhile
};

/// One row of a GPU's calibration.
struct GpuRate {
  std::string work;   ///< "product bf16 4096x4096x4096", "copy up 64 MiB", "copy down 64 MiB beside copy up"
  double amount = 0;  ///< floating-point operations, or bytes, of a piece
  bool is_product = false;
  Sustained sustained;
  double host_bytes_per_second = 0;  ///< of the host's load meanwhile; 0: it had none

  [[nodiscard]] double rate() const { return sustained.seconds.median > 0 ? amount / sustained.seconds.median : 0; }
};

struct GpuRatesOptions {
  SustainOptions sustain;
  std::vector<ProductShape>
      products;               ///< empty: the sizes of GPT-2 124M, GPT-2 1.5B and Llama 8B, in every type that the device knows
  std::vector<Bytes> copies;  ///< empty: 1, 16 and 256 MiB
  HostLoad optimizer;         ///< the CPU's Adam: copies are measured beside it too, if it is given
  std::function<void(double share)> progress;  ///< how much is done
};

/// Measures products and copies one after another, each sustained; copies with the other direction idle and busy.
std::vector<GpuRate> measure_gpu_rates(BenchDevice& device, const GpuRatesOptions& options = {});

/// The rows as CSV with a header, rates in TFLOP/s and GB/s, each measured.
std::string gpu_rates_csv(const std::string& device, const std::vector<GpuRate>& rates);

}  // namespace plimsoll
