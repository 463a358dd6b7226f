#include <algorithm>
#include <catch2/catch.hpp>

#include "formats/machines/machine_json.h"
#include "session/probe/measured_parts.h"
#include "session/probe/probe_machine.h"
#include "sim/cost/probe_statistics.h"
#include "tests/support/temporary_folder.h"

using namespace plimsoll;

namespace {

/// A probe of tiny kernels, each timed for hardly longer than it takes.
ProbeOptions tiny_options() {
  return {.kernel_seconds = 0.05,
          .most_per_kernel = 0.001,
          .memory = {.seconds = 0, .runs = 2, .most_seconds = 0.02, .dropped = 1},
          .kernel_span = kMiB,
          .memory_bytes = kMiB,
          .rehearsal_steps = 3,
          .models = {"gpt:layers=1,hidden=16,heads=2,vocab=32,positions=8"},
          .date = "2026-01-31T12:00:00Z",
          .tool_version = "1.0"};
}

bool is_ordered(const Spread& spread) { return spread.low <= spread.median && spread.median <= spread.high; }

void check_rates(const MachineProbe& probe) {
  for (const Spread& rate : {probe.memory.read, probe.memory.copy_traffic, probe.memory.copy}) {
    CHECK((rate.low > 0 && is_ordered(rate)));
  }
  CHECK((probe.product_flops.low > 0 && is_ordered(probe.product_flops)));
  CHECK((probe.optimizer_bytes.low > 0 && is_ordered(probe.optimizer_bytes)));
  CHECK((probe.others_cpu >= 0 && probe.others_cpu <= 1));
}

/// Whatever a plan does has a key, and so have the kernels of a step.
void check_statistics(const MachineProbe& probe) {
  const auto statistics = statistics_of(probe);
  REQUIRE(statistics);
  CHECK(statistics->keys.size() == probe.costs.size());
  for (const auto subject :
       {CostSubject::kKernel, CostSubject::kTransfer, CostSubject::kHostWork, CostSubject::kIssue}) {
    CHECK(std::any_of(statistics->keys.begin(), statistics->keys.end(),
                      [&](const auto& entry) { return entry.first.subject == subject; }));
  }
  for (const OpKind kind :
       {OpKind::kLinear, OpKind::kAttentionBackward, OpKind::kAccumulate, OpKind::kClipFactor, OpKind::kAdamW}) {
    CHECK(std::any_of(statistics->keys.begin(), statistics->keys.end(),
                      [&](const auto& entry) { return entry.first.kernel.kind == kind; }));
  }
}

}  // namespace

TEST_CASE("a probe measures every kernel of a step, copies, host tasks and gaps, with ordered spreads") {
  const std::atomic<bool> stop{false};
  std::vector<double> shares;
  const auto probe = probe_machine(
      tiny_options(), [&](const std::string&, double done) { shares.push_back(done); }, stop);
  REQUIRE((probe ? "" : probe.error().text()) == "");
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.back() == 1.0);
  check_rates(*probe);
  CHECK_FALSE(probe->drive);
  CHECK(probe->topology.threads >= probe->topology.cores);
  REQUIRE_FALSE(probe->parts.numa_nodes.empty());
  double dram = 0;
  for (const NumaPart& node : probe->parts.numa_nodes) dram += node.bytes_per_second.value_or(0);
  CHECK(dram == Approx(std::max(probe->memory.read.median, probe->memory.copy_traffic.median)));
  for (const ProbedCost& cost : probe->costs) {
    INFO(cost.work);
    CHECK((cost.nanoseconds.low >= 0 && is_ordered(cost.nanoseconds) && cost.nanoseconds.samples >= 1));
  }
  check_statistics(*probe);
  const auto again = read_probe(write_probe(*probe), "probe");
  REQUIRE((again ? "" : again.error().text()) == "");
  CHECK(write_probe(*again) == write_probe(*probe));
}

TEST_CASE("a probe that is stopped says so and gives nothing") {
  const std::atomic<bool> stop{true};
  const auto probe = probe_machine(tiny_options(), {}, stop);
  REQUIRE_FALSE(probe);
  CHECK(probe.error().kind == ErrorKind::kInterrupted);
}

TEST_CASE("trials are the distinct kernels of a step with their operands") {
  const auto spec = ModelSpec{.layers = 2,
                              .hidden = 16,
                              .heads = 2,
                              .kv_heads = 2,
                              .head_dim = 8,
                              .ffn = 64,
                              .vocabulary = 32,
                              .max_positions = 8};
  const Graph graph = build_training_graph(spec, {.sequence = 8});
  const auto trials = trials_of(graph);
  CHECK(trials.size() < graph.ops.size());  // both blocks run the same kernels
  for (const Op& op : graph.ops) {
    const Kernel kernel{op.kind, op.dtype, op.shape};
    CHECK(std::count_if(trials.begin(), trials.end(), [&](const KernelTrial& t) { return t.kernel == kernel; }) == 1);
  }
  for (const KernelTrial& trial : trials) CHECK(trial.tensors.size() == trial.accesses.size());
}

TEST_CASE("a kernel's operands come in turn, as many copies as the span holds") {
  const KernelTrial trial{.kernel = {.kind = OpKind::kAdd, .dtype = DType::kFp32},
                          .tensors = {{.elements = 1024}, {.elements = 1024}},  // 8 KiB a set
                          .accesses = {Access::kRead, Access::kWrite},
                          .recipe = {}};
  KernelOperands operands(trial, 32 * kKiB);
  std::vector<const std::byte*> first;
  for (int run = 0; run < 6; ++run) first.push_back(operands.next()[0].data);
  const auto copies = static_cast<std::ptrdiff_t>(std::find(first.begin() + 1, first.end(), first[0]) - first.begin());
  CHECK((copies == 3 || copies == 4));
  CHECK(operands.next().size() == 2);
}

TEST_CASE("worker counts double up to the most") {
  CHECK(worker_counts(1) == std::vector<std::int64_t>{1});
  CHECK(worker_counts(2) == std::vector<std::int64_t>{1, 2});
  CHECK(worker_counts(6) == std::vector<std::int64_t>{1, 2, 4, 6});
}

TEST_CASE("a probe that is told a folder measures its drive, and one that cannot hold data is refused") {
  const TemporaryFolder folder;
  const std::atomic<bool> stop{false};
  ProbeOptions options = tiny_options();
  options.ssd_folder = folder.path();
  options.ssd_fill = Bytes(0);
  const auto probe = probe_machine(options, {}, stop);
  REQUIRE((probe ? "" : probe.error().text()) == "");
  REQUIRE(probe->drive);
  for (const Spread& rate :
       {probe->drive->read, probe->drive->write, probe->drive->mixed_read, probe->drive->mixed_write}) {
    CHECK((rate.low > 0 && is_ordered(rate)));
  }
  const Platform& platform = probe->platform;
  const auto host = platform.space(SpaceKind::kHost), ssd = platform.space(SpaceKind::kSsd);
  REQUIRE(ssd);
  const AttachedDrive told = attached(*probe->drive);
  CHECK(told.read_bytes_per_second <= probe->drive->read.median);
  CHECK(told.write_bytes_per_second <= probe->drive->write.median);
  CHECK(platform.at(*platform.link(*ssd, *host)).bytes_per_second == told.read_bytes_per_second);
  CHECK(platform.at(*platform.link(*host, *ssd)).bytes_per_second == told.write_bytes_per_second);
  options.ssd_folder = "/no/such/folder";
  CHECK_FALSE(probe_machine(options, {}, stop));
}

namespace {

MachineProbe probed_drive() {
  MachineProbe probe{.cpu_model = "Test CPU"};
  probe.memory.read = {4e10, 4e10, 4e10, 9};
  probe.platform.name = "desk";
  probe.drive = ProbedDrive{.folder = "/data", .free = 100 * kGiB, .read = {2e9, 2e9, 2e9, 9}, .write = {1e9, 1e9, 1e9, 9},
                            .mixed_read = {1.2e9, 1e9, 1.4e9, 9}, .mixed_write = {6e8, 5e8, 7e8, 9}};
  return probe;
}

ThisComputer two_nodes() {
  ThisComputer computer{.cpu_model = "Test CPU", .logical_cores = 8, .physical_cores = 8};
  computer.topology.numa_nodes = {{.memory = 32 * kGiB, .cores = 6}, {.memory = 16 * kGiB, .cores = 2}, {.memory = kGiB, .cores = 0}};
  computer.gpus = {{.name = "RTX 2060 6GB", .pcie_generation = 3, .pcie_lanes = 8, .numa_node = 1}};
  return computer;
}

}  // namespace

TEST_CASE("a probed computer's parts sum to what was measured and read back to the same platform") {
  const MachineParts parts = measured_parts(two_nodes(), probed_drive());
  // 40 GB/s over 8 cores: 30 for six of them, 10 for two; memory without cores has no rate.
  CHECK(parts.numa_nodes[0].bytes_per_second == 3e10);
  CHECK(parts.numa_nodes[1].bytes_per_second == 1e10);
  CHECK_FALSE(parts.numa_nodes[2].bytes_per_second);
  const auto read = read_machine_parts(write_machine_parts(parts), "desk.json");
  REQUIRE((read ? "" : read.error().text()) == "");
  CHECK(write_machine_parts(*read) == write_machine_parts(parts));
  const auto gpu = find_gpu(built_in_gpu_catalogue(), "RTX 2060 6GB");
  REQUIRE(gpu);
  const auto written = platform_of(parts, *gpu), again = platform_of(*read, *gpu);
  REQUIRE(written);
  REQUIRE(again);
  CHECK(write_machine(again->platform) == write_machine(written->platform));
  // 1.2/2 + 0.6/1 = 1.2 drive-seconds a second while it does both.
  const auto& resources = written->platform.resources;
  const auto both = std::find_if(resources.begin(), resources.end(), [](const Resource& r) { return r.name == "ssd.total"; });
  REQUIRE(both != resources.end());
  CHECK(both->capacity == Approx(1.2));
  CHECK(attached(*probed_drive().drive).together == Approx(1.2));
}

TEST_CASE("a drive slower at both at once than in turns is taken to take turns, each as slow as both were") {
  const DriveSpeeds slow = drive_speeds(2e9, 1e9, 4e8, 3e8);  // 0.2 + 0.3 drive-seconds a second
  CHECK(slow.together == 1.0);
  CHECK(slow.read == Approx(1e9));
  CHECK(slow.write == Approx(0.5e9));
  const DriveSpeeds fast = drive_speeds(2e9, 1e9, 2e9, 1.1e9);
  CHECK(fast.together == 2.0);
  CHECK(fast.read == 2e9);
}
