#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/quantity.h"

namespace plimsoll {

/// What Linux says about one processor.
struct CpuDescription {
  std::string model;
  double mhz = 0;  ///< at the moment of reading; 0 when unknown
  bool avx2 = false;
  bool avx512 = false;
};

/// Reads the first processor of /proc/cpuinfo.
CpuDescription parse_cpuinfo(std::string_view text);

/// A field of /proc/meminfo ("MemAvailable"); nothing when it is missing or malformed.
std::optional<Bytes> parse_meminfo(std::string_view text, std::string_view field);

/// Cores of a cgroup's cpu.max ("150000 100000" is 1.5); nothing for "max".
std::optional<double> parse_cpu_max(std::string_view text);

/// The path of this process in /proc/self/cgroup under `controller` ("" is version 2); nothing when it is in none.
std::optional<std::string> parse_cgroup_path(std::string_view text, std::string_view controller);

}  // namespace plimsoll
