#include "cli/commands/measure_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/print/waiting_line.h"
#include "formats/text/write_text_file.h"
#include "profiler/microbench/gpu_rates.h"
#include "session/probe/adam_load.h"

namespace plimsoll {

std::string gpu_rates_path(const std::string& probe) {
  const std::string stem = probe.ends_with(".json") ? probe.substr(0, probe.size() - 5) : probe;
  return stem + ".gpu.csv";
}

void measure_gpu(const std::string& output, std::int64_t cores) {
  auto device = open_bench_device();
  if (!device) {
    fmt::print(stderr, "plimsoll: the GPU is not measured: {}\n", device.error().text());
    return;
  }
  AdamLoad adam(static_cast<std::size_t>(std::clamp<std::int64_t>(cores, 1, 16)));
  std::vector<GpuRate> rates;
  {
    WaitingLine waiting("measuring the GPU");
    GpuRatesOptions options;
    options.optimizer = {.start = [&] { adam.start(); }, .stop = [&] { return adam.stop(); }};
    options.progress = [&](double share) { waiting.tell(share); };
    rates = measure_gpu_rates(**device, options);
  }
  for (const GpuRate& rate : rates) {
    fmt::print(stderr, "  {:<44}{:>8.1f} {}{}\n", rate.work, rate.rate() * (rate.is_product ? 1e-12 : 1e-9),
               rate.is_product ? "TFLOP/s" : "GB/s",
               rate.sustained.slowdown > 1.03
                   ? fmt::format("  (slower by {:.0f} % in the end)", 100 * (rate.sustained.slowdown - 1))
                   : "");
  }
  write_text_file(output, gpu_rates_csv((*device)->name(), rates));
  fmt::print(stderr, "plimsoll: wrote {}\n", output);
}

}  // namespace plimsoll
