#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/result.h"
#include "core/platform/operating_system.h"
#include "formats/machines/gpu_catalogue.h"

namespace plimsoll {

/// A share of a GPU's memory that no plan can use, and for which boards that was seen. Empty conditions match any
/// board.
struct MemoryOverhead {
  std::string item;  ///< "carve_out" (never visible to CUDA), "context" or "desktop"
  std::string gpu;
  std::optional<GpuBoard> board;
  std::string architecture;
  double nominal_share = 0;
  double mib = 0;
  double mib_per_multiprocessor = 0;
  double at_least_mib = 0;
  std::string conditions;
  std::string source;
};

/// Reads the table of data/platforms/memory_overheads.csv.
Result<std::vector<MemoryOverhead>> read_memory_overheads(std::string_view csv, std::string where);

/// The table that the program carries.
const std::vector<MemoryOverhead>& built_in_memory_overheads();

/// The first row of `item` that matches the board, if any.
const MemoryOverhead* find_overhead(const std::vector<MemoryOverhead>& rows, std::string_view item,
                                    const GpuEntry& gpu);

/// Rows of the table that the program carries which apply to a board: what it never shows ("carve_out"), the program's "context",
/// and a "desktop", or under Windows and WSL2 what their display driver ("wddm") keeps, desktop or not. There a program is not
/// refused memory beyond: the driver moves it to the host, many times slower, which counts as not fitting.
std::vector<const MemoryOverhead*> overheads_of(const GpuEntry& gpu, OperatingSystem os, bool desktop);

/// max(at_least, nominal_share · memory + mib + mib_per_multiprocessor · multiprocessors), rounded up to whole MiB.
Bytes overhead_bytes(const MemoryOverhead& row, const GpuEntry& gpu);

}  // namespace plimsoll
