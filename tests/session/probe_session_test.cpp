#include <algorithm>
#include <catch2/catch.hpp>

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

}  // namespace

TEST_CASE("a probe measures every kernel of a step, copies, host tasks and gaps, with ordered spreads") {
  const std::atomic<bool> stop{false};
  std::vector<double> shares;
  const auto probe = probe_machine(
      tiny_options(), [&](const std::string&, double done) { shares.push_back(done); }, stop);
  REQUIRE((probe ? "" : probe.error().text()) == "");
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.back() == 1.0);
  for (const Spread& rate : {probe->memory.read, probe->memory.copy_traffic, probe->memory.copy}) {
    CHECK((rate.low > 0 && is_ordered(rate)));
  }
  CHECK((probe->product_flops.low > 0 && is_ordered(probe->product_flops)));
  CHECK((probe->optimizer_bytes.low > 0 && is_ordered(probe->optimizer_bytes)));
  CHECK((probe->others_cpu >= 0 && probe->others_cpu <= 1));
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
  const auto statistics = statistics_of(*probe);
  REQUIRE(statistics);
  CHECK(statistics->keys.size() == probe->costs.size());
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
  options.ssd_folder = "/no/such/folder";
  CHECK_FALSE(probe_machine(options, {}, stop));
}
