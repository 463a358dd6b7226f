#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "formats/machines/machine_parts.h"
#include "formats/text/json_node.h"

namespace plimsoll {

/// Data or unified caches of one level that are alike.
struct CpuCache {
  int level = 1;
  Bytes bytes;                 ///< of one
  std::int64_t shared_by = 1;  ///< hardware threads that one serves
  std::int64_t count = 1;

  auto operator<=>(const CpuCache&) const = default;
};

/// What a process may run on, and the memory around it.
struct CpuTopology {
  std::int64_t packages = 1;
  std::int64_t cores = 1;
  std::int64_t threads = 1;           ///< hardware threads of those cores
  std::vector<CpuCache> caches;       ///< the first level first
  std::vector<NumaPart> numa_nodes;   ///< each core counts to one of them; memory may have no cores of its own
};

/// "2 x L1 32.0 KiB of 1 thread, 1 x L3 32.0 MiB of 2 threads"; empty without caches.
std::string caches_text(const CpuTopology& topology);

/// "1 NUMA node: 23.5 GiB with 2 cores".
std::string numa_text(const std::vector<NumaPart>& nodes);

/// Packages, cores, threads and caches as JSON on one line; NUMA nodes are parts of a machine and stand there.
std::string write_topology(const CpuTopology& topology);
CpuTopology read_topology(const JsonNode& node);

}  // namespace plimsoll
