#include "profiler/probe/hardware_topology.h"

#include <hwloc.h>

#include <algorithm>
#include <array>
#include <memory>

#include "core/base/error.h"

namespace plimsoll {
namespace {

constexpr std::array<hwloc_obj_type_t, 5> kDataCaches{HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                                      HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE};

using BitmapOwner = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

void require(bool succeeded, const char* what, const std::string& where) {
  if (succeeded) return;
  throw EnvironmentError(
      {.kind = ErrorKind::kEnvironment, .what = what, .where = where, .remedy = "see what lstopo of hwloc says"});
}

/// A loaded topology.
class Topology {
 public:
  /// Of `description`, or of this computer when it is empty.
  explicit Topology(const std::string& description) {
    require(hwloc_topology_init(&topology_) == 0, "hwloc cannot start", "");
    try {
      load(description);
    } catch (...) {
      hwloc_topology_destroy(topology_);
      throw;
    }
  }
  ~Topology() { hwloc_topology_destroy(topology_); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  [[nodiscard]] hwloc_topology_t get() const { return topology_; }

  [[nodiscard]] std::int64_t count(hwloc_obj_type_t type) const {
    return std::max(0, hwloc_get_nbobjs_by_type(topology_, type));
  }

 private:
  void load(const std::string& description) {
    if (description.empty()) {
      hwloc_topology_set_flags(topology_, HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING | HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
    } else {
      require(hwloc_topology_set_synthetic(topology_, description.c_str()) == 0, "hwloc does not understand", description);
    }
    require(hwloc_topology_load(topology_) == 0, "hwloc cannot find out what this computer is", description);
  }

  hwloc_topology_t topology_ = nullptr;
};

std::vector<CpuCache> caches_of(const Topology& topology) {
  std::vector<CpuCache> caches;
  for (const hwloc_obj_type_t type : kDataCaches) {
    for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(topology.get(), type, object)) != nullptr;) {
      const CpuCache found{.level = static_cast<int>(object->attr->cache.depth),
                           .bytes = Bytes(static_cast<std::int64_t>(object->attr->cache.size)),
                           .shared_by = hwloc_bitmap_weight(object->cpuset)};
      if (found.bytes <= Bytes(0)) continue;  // there is one, and nobody says how large
      const auto known = std::find_if(caches.begin(), caches.end(), [&](const CpuCache& cache) {
        return cache.level == found.level && cache.bytes == found.bytes && cache.shared_by == found.shared_by;
      });
      if (known == caches.end()) {
        caches.push_back(found);
      } else {
        ++known->count;
      }
    }
  }
  return caches;
}

/// Cores (or, where hwloc knows none, hardware threads) of which the first thread lies in `cpus`.
std::int64_t cores_in(const Topology& topology, hwloc_const_bitmap_t cpus) {
  const hwloc_obj_type_t type = topology.count(HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  std::int64_t cores = 0;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology.get(), type, core)) != nullptr;) {
    if (hwloc_bitmap_isset(cpus, static_cast<unsigned>(hwloc_bitmap_first(core->cpuset))) != 0) ++cores;
  }
  return cores;
}

/// Memories of two sorts may be near the same cores; those count to the first.
std::vector<NumaPart> nodes_of(const Topology& topology) {
  std::vector<NumaPart> nodes;
  const BitmapOwner left(hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(topology.get())), &hwloc_bitmap_free);
  const BitmapOwner own(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    hwloc_bitmap_and(own.get(), left.get(), node->cpuset);
    hwloc_bitmap_andnot(left.get(), left.get(), node->cpuset);
    nodes.push_back({.memory = Bytes(static_cast<std::int64_t>(node->attr->numanode.local_memory)),
                     .cores = cores_in(topology, own.get())});
  }
  return nodes;
}

CpuTopology read(const Topology& topology) {
  const std::int64_t threads = std::max<std::int64_t>(1, topology.count(HWLOC_OBJ_PU));
  return {.packages = std::max<std::int64_t>(1, topology.count(HWLOC_OBJ_PACKAGE)),
          .cores = cores_in(topology, hwloc_topology_get_topology_cpuset(topology.get())),
          .threads = threads,
          .caches = caches_of(topology),
          .numa_nodes = nodes_of(topology)};
}

}  // namespace

CpuTopology hardware_topology() { return read(Topology("")); }

CpuTopology hardware_topology_of(const std::string& description) { return read(Topology(description)); }

}  // namespace plimsoll
