#include "profiler/probe/hardware_topology.h"

#include <catch2/catch.hpp>

#include "core/base/error.h"

using namespace plimsoll;

TEST_CASE("two sockets are two packages, each with its memory and its last cache") {
  // 2 packages · 8 cores · 2 threads = 32 threads; the cache of a package serves 16 of them.
  const auto two = hardware_topology_of("package:2 [numa(memory=17179869184)] l3:1(size=33554432) l1:8(size=32768) core:1 pu:2");
  CHECK(two.packages == 2);
  CHECK(two.cores == 16);
  CHECK(two.threads == 32);
  CHECK(two.caches == std::vector<CpuCache>{{1, 32 * kKiB, 2, 16}, {3, 32 * kMiB, 16, 2}});
  REQUIRE(two.numa_nodes.size() == 2);
  for (const NumaPart& node : two.numa_nodes) {
    CHECK(node.memory == 16 * kGiB);
    CHECK(node.cores == 8);
  }
}

TEST_CASE("a processor of many cores may have several last caches and several nodes") {
  // 1 package · 4 nodes · 3 caches · 8 cores · 2 threads = 96 cores, 192 threads, 12 caches of 16 threads.
  const auto many = hardware_topology_of("package:1 group:4 [numa(memory=1073741824)] l3:3(size=33554432) core:8 pu:2");
  CHECK(many.cores == 96);
  CHECK(many.threads == 192);
  CHECK(many.caches == std::vector<CpuCache>{{3, 32 * kMiB, 16, 12}});
  REQUIRE(many.numa_nodes.size() == 4);
  for (const NumaPart& node : many.numa_nodes) CHECK(node.cores == 24);
}

TEST_CASE("a core counts to one node, also where two memories are near it") {
  const auto two = hardware_topology_of("package:2 [numa(memory=68719476736)] [numa(memory=17179869184)] core:4 pu:1");
  REQUIRE(two.numa_nodes.size() == 4);
  std::int64_t cores = 0;
  Bytes memory;
  for (const NumaPart& node : two.numa_nodes) {
    cores += node.cores;
    memory += node.memory;
  }
  CHECK(cores == 8);
  CHECK(memory == 160 * kGiB);
}

TEST_CASE("where no core is known each hardware thread is one") {
  const auto flat = hardware_topology_of("pu:6");
  CHECK(flat.cores == 6);
  CHECK(flat.threads == 6);
  CHECK(flat.packages == 1);
}

TEST_CASE("topology is told in words") {
  const CpuTopology two{.caches = {{1, 32 * kKiB, 1, 2}, {3, 32 * kMiB, 2, 1}},
                        .numa_nodes = {{.memory = 16 * kGiB, .cores = 2}, {.memory = 8 * kGiB, .cores = 1}}};
  CHECK(caches_text(two) == "2 x L1 32.0 KiB of 1 thread, 1 x L3 32.0 MiB of 2 threads");
  CHECK(numa_text(two.numa_nodes) == "2 NUMA nodes: 16.00 GiB with 2 cores, 8.00 GiB with 1 core");
}

TEST_CASE("words that describe no machine are refused by name") {
  REQUIRE_THROWS_WITH(hardware_topology_of("package:two"), Catch::Contains("package:two"));
}

TEST_CASE("this computer's nodes hold its cores, and no more threads than there are serve a cache") {
  const auto here = hardware_topology();
  std::int64_t cores = 0;
  for (const NumaPart& node : here.numa_nodes) cores += node.cores;
  CHECK(cores == here.cores);
  CHECK(here.threads >= here.cores);
  for (const CpuCache& cache : here.caches) {
    CHECK(cache.level >= 1);
    CHECK(cache.count * cache.shared_by <= here.threads);
  }
}
