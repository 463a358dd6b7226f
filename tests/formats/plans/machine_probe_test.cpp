#include "formats/machines/machine_probe.h"

#include <catch2/catch.hpp>

#include "formats/machines/machine_json.h"
#include "tests/formats/plans/full_plan.h"

namespace plimsoll::test {
namespace {

MachineProbe probe() {
  return {.cpu_model = "Test \"CPU\"",
          .logical_cores = 8,
          .physical_cores = 4,
          .topology = {.packages = 2, .cores = 4, .threads = 8, .caches = {{1, 32 * kKiB, 2, 4}, {3, 32 * kMiB, 4, 2}}},
          .parts = {.numa_nodes = {{.memory = 8 * kGiB, .cores = 4, .bytes_per_second = 3e10}, {.memory = 2 * kGiB, .cores = 0}},
                    .drives = {{.capacity = 64 * kGiB, .queue_depth = 4, .read_bytes_per_second = 2e9, .write_bytes_per_second = 1e9,
                                .mixed_read_bytes_per_second = 8e8, .mixed_write_bytes_per_second = 4e8}}},
          .workers = 4,
          .date = "2026-01-31T12:00:00Z",
          .tool_version = "1.10.0",
          .memory = {.read = {3e10, 2.9e10, 3.1e10, 40},
                     .copy_traffic = {2.5e10, 2.4e10, 2.6e10, 30},
                     .copy = {8e9, 7.5e9, 8.25e9, 20},
                     .copy_latency = Nanoseconds(31),
                     .product = {1.25, 2.5},
                     .optimizer = {1.5, 1.75}},
          .product_flops = {1e11, 9e10, 1.1e11, 12},
          .optimizer_bytes = {2e10, 1.9e10, 2.1e10, 11},
          .others_cpu = 0.0625,
          .drive = ProbedDrive{.folder = "/data",
                               .way = "io_uring, O_DIRECT, ext4",
                               .free = 64 * kGiB,
                               .filled = 4 * kGiB,
                               .read = {2e9, 1.5e9, 2.5e9, 16},
                               .write = {1e9, 5e8, 1.5e9, 16},
                               .mixed_read = {8e8, 7e8, 9e8, 15},
                               .mixed_write = {4e8, 3e8, 5e8, 14}},
          .platform = full_plan().platform,
          .costs = {{"kernel add fp32 rows=2 inputs=3 @ Test", {1234.5, 1200, 1300, 17}},
                    {"issue compute @ this", {0, 0, 12, 3}}},
          .plans = {"0123456789abcdef"}};
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

std::string error_of(const std::string& text) {
  const auto read = read_probe(text, "p.json");
  return read ? "read without complaint" : read.error().text();
}

}  // namespace

TEST_CASE("a probe file gives the probe back") {
  const std::string text = write_probe(probe());
  const auto read = read_probe(text, "p.json");
  REQUIRE((read ? "" : read.error().text()) == "");
  CHECK(write_probe(*read) == text);
  CHECK(read->cpu_model == probe().cpu_model);
  CHECK(read->topology.caches == probe().topology.caches);
  CHECK(read->topology.threads == 8);
  CHECK(read->parts.numa_nodes[1].cores == 0);
  CHECK(read->memory.copy.low == 7.5e9);
  CHECK(read->memory.optimizer.copy == 1.75);
  CHECK(read->costs[0].nanoseconds.samples == 17);
  CHECK(read->plans == probe().plans);
  CHECK(read->product_flops.high == 1.1e11);
  CHECK(read->others_cpu == 0.0625);
  REQUIRE(read->drive);
  CHECK(read->drive->filled == 4 * kGiB);
  CHECK(read->drive->free == 64 * kGiB);
  CHECK(read->drive->mixed_write.low == 3e8);
  CHECK(write_machine(read->platform) == write_machine(probe().platform));
}

TEST_CASE("a probe from before topology, kernels' rates and drives were stored is read as before") {
  MachineProbe old = probe();
  old.product_flops = {};
  old.optimizer_bytes = {};
  old.drive = std::nullopt;
  std::string text = replaced(write_probe(old), "  \"others_cpu_share\": 0.0625,\n", "");
  text.erase(text.find("  \"topology\""), text.find("  \"workers\"") - text.find("  \"topology\""));
  text = replaced(text, "  \"workers\"", "  \"numa_nodes\": 2, \"caches\": [{\"level\": 1, \"bytes\": 32768}],\n  \"workers\"");
  const auto read = read_probe(text, "p.json");
  REQUIRE((read ? "" : read.error().text()) == "");
  CHECK(read->parts.numa_nodes.empty());
  CHECK(read->others_cpu == 0);
  CHECK_FALSE(read->drive);
}

TEST_CASE("a probe with an impossible number is refused, with its place") {
  const std::string text = write_probe(probe());
  CHECK(
      error_of(replaced(text, "\"low\": 29000000000", "\"low\": 31000000000")).find("/memory_bytes_per_second/read") !=
      std::string::npos);
  CHECK(error_of(replaced(text, "\"low\": 7500000000", "\"low\": 0")).find("a rate must be positive") !=
        std::string::npos);
  CHECK(error_of(replaced(text, "\"work\": 1.25", "\"work\": 0.5")) != "read without complaint");
  CHECK(
      error_of(replaced(text, "\"format_version\": 1", "\"format_version\": 9")).find("format_version 9 is unknown") !=
      std::string::npos);
  CHECK(error_of(replaced(text, "\"workers\"", "\"werkers\"")) != "read without complaint");
}

TEST_CASE("a probe file is told from a machine file") {
  CHECK(looks_like_probe(write_probe(probe())));
  CHECK_FALSE(looks_like_probe(write_machine(probe().platform)));
  CHECK_FALSE(looks_like_probe("no JSON"));
}

TEST_CASE("a probe counts on its own computer under its own version or an older one") {
  CHECK(check_probe(probe(), "Test \"CPU\"", 8, "1.10.0"));
  CHECK(check_probe(probe(), "Test \"CPU\"", 8, "1.9.3"));
  for (const auto& [cpu, count, version] :
       {std::tuple{"Other CPU", 8, "1.10.0"}, std::tuple{"Test \"CPU\"", 4, "1.10.0"},
        std::tuple{"Test \"CPU\"", 8, "1.10.1"}, std::tuple{"Test \"CPU\"", 8, "2.0"}}) {
    const auto counts = check_probe(probe(), cpu, count, version);
    REQUIRE_FALSE(counts);
    CHECK(counts.error().remedy.find("plimsoll machines --probe") != std::string::npos);
  }
}

TEST_CASE("a queue's weight is kept in a machine file") {
  Platform platform = full_plan().platform;
  platform.queues[0].weight = 0.5;
  const auto read = read_machine(write_machine(platform), "m.json");
  REQUIRE(read);
  CHECK(read->queues[0].weight == 0.5);
  CHECK(read->queues[1].weight == 1.0);
  CHECK_FALSE(read_machine(replaced(write_machine(platform), "\"weight\": 0.5", "\"weight\": 0"), "m.json"));
}

}  // namespace plimsoll::test
