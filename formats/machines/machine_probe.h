#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/result.h"
#include "core/platform/platform.h"

namespace plimsoll {

/// Median and 5–95 % spread of something that was measured several times; the unit stands where it is used.
struct Spread {
  double median = 0;
  double low = 0;
  double high = 0;
  std::int64_t samples = 0;
};

/// How much longer work and a copy take while both run: time together ÷ time alone, at least 1.
struct PairSlowdown {
  double work = 1.0;
  double copy = 1.0;
};

/// What was measured of a computer's memory. Rates are bytes a second.
struct MemoryRates {
  Spread read;               ///< all cores read
  Spread copy_traffic;       ///< all cores copy; bytes read and bytes written
  Spread copy;               ///< one core copies; bytes copied
  Nanoseconds copy_latency;  ///< of a copy of one cache line, with the clock
  PairSlowdown product;      ///< a matrix product on all workers beside a copy
  PairSlowdown optimizer;    ///< the optimizer on all workers beside a copy
};

/// The measured duration of one kind of work.
struct ProbedCost {
  std::string work;  ///< a cost key's text
  Spread nanoseconds;
};

/// What `plimsoll machines --probe` measured of the computer it ran on.
struct MachineProbe {
  std::string cpu_model;
  std::int64_t logical_cores = 1;
  std::int64_t physical_cores = 1;
  std::int64_t numa_nodes = 1;
  std::vector<std::pair<int, Bytes>> caches;  ///< level and size, of the first core
  std::int64_t workers = 1;                   ///< that the pairs and the platform are of
  std::string date;                           ///< UTC, 2026-01-31T12:00:00Z
  std::string tool_version;
  MemoryRates memory;
  Platform platform;
  std::vector<ProbedCost> costs;
  std::vector<std::string> plans;  ///< digests of the plans that ran for some of the costs
};

std::string write_probe(const MachineProbe& probe);

/// Reads what write_probe wrote. A spread that is not ordered, or a rate that is not positive, is refused.
Result<MachineProbe> read_probe(std::string_view text, const std::string& where);

/// True when the text is a probe and not a machine file: both are JSON objects, and only a probe has "costs".
bool looks_like_probe(std::string_view text);

/// Why the probe says nothing about a computer of this model and core count under this version of the tool; nothing
/// when it does.
Result<void> check_probe(const MachineProbe& probe, std::string_view cpu_model, std::int64_t logical_cores,
                         std::string_view tool_version);

}  // namespace plimsoll
