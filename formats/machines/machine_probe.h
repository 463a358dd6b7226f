#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/result.h"
#include "core/platform/platform.h"
#include "formats/machines/cpu_topology.h"
#include "formats/machines/machine_parts.h"
#include "formats/machines/spread.h"

namespace plimsoll {

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

/// What a folder's drive was measured to reach, in bytes a second; the mixed rates are those of both directions at once.
struct ProbedDrive {
  std::string folder;
  std::string way;  ///< how bytes moved: "io_uring with registered buffers, O_DIRECT, ext4"
  Bytes free;       ///< in the folder, before
  Bytes filled;     ///< written before anything was measured, so that the drive's own cache is full
  Spread read;
  Spread write;
  Spread mixed_read;
  Spread mixed_write;
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
  CpuTopology topology;      ///< without NUMA nodes, which are among the parts
  MachineParts parts;        ///< NUMA nodes with what their memory reaches, and the drive
  std::int64_t workers = 1;  ///< that the pairs and the platform are of
  std::string date;          ///< UTC, 2026-01-31T12:00:00Z
  std::string tool_version;
  MemoryRates memory;
  Spread product_flops;    ///< a second, of the largest matrix product that was timed, by all workers
  Spread optimizer_bytes;  ///< a second, that AdamW reads and writes, by all workers
  double others_cpu = 0;   ///< share of the computer's CPU time that others used meanwhile
  std::optional<ProbedDrive> drive;  ///< when a folder was named
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
