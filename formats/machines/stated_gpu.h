#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "formats/machines/gpu_catalogue.h"
#include "formats/text/json_node.h"

namespace plimsoll {

/// Figures of a GPU that a machine file states beside its name.
struct StatedGpu {
  Bytes memory;
  double memory_gbs = 0;
  std::int64_t multiprocessors = 0;
  std::optional<double> fp32_tflops;
  std::optional<double> tf32_tflops;
  std::optional<double> fp16_tflops;
  std::optional<double> bf16_tflops;
  std::optional<GpuBoard> board;
  std::optional<std::string> compute_capability;
};

/// Reads "memory", "bytes_per_second", "multiprocessors", "tflops", "board" and "compute_capability" of a GPU's entry; nothing
/// when none of them is there. Figures that contradict one another are faults.
std::optional<StatedGpu> read_stated_gpu(const JsonNode& node);
/// The same keys, to be written behind a name: `, "memory": …`, or nothing.
std::string write_stated_gpu(const std::optional<StatedGpu>& gpu);

/// The board that a name and figures mean. A name of the catalogue stands for its row, which stated figures may repeat and not
/// contradict; any other name needs memory, its bandwidth, multiprocessors and a rate of fp32 or fp16 products.
Result<GpuEntry> gpu_of(const std::string& name, const std::optional<StatedGpu>& stated, const std::string& where);

/// What is taken of similar boards because a GPU is none of the catalogue; empty for one that is.
std::vector<std::string> extrapolation_notes(const GpuEntry& gpu);

}  // namespace plimsoll
