#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

/// Measures the first GPU, a minute or two: products, copies with the other direction idle and busy, and beside the CPU's AdamW
/// on `cores` threads. Writes the rates to `output` (CSV) and says so; where there is no GPU to measure, says why.
void measure_gpu(const std::string& output, std::int64_t cores);

/// Where the rates of a probe kept at `probe` go: "machine.json" has "machine.gpu.csv" beside it.
std::string gpu_rates_path(const std::string& probe);

}  // namespace plimsoll
