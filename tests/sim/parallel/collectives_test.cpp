#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "sim/cost/efficiencies.h"
#include "sim/parallel/collectives.h"
#include "tests/sim/parallel/training.h"

namespace plimsoll {
namespace {

/// Nodes of 4 at 100 GB/s and 1 ms, joined at 10 GB/s a GPU and 2 ms.
Cluster hand_made(std::int64_t gpus) {
  Cluster cluster{.gpu = {},
                  .gpus = gpus,
                  .node_gpus = 4,
                  .inside = {.rate = 100e9, .latency = 1e-3},
                  .network = {},
                  .network_origin = {}};
  if (gpus > 4) cluster.network = LinkLevel{.rate = 10e9, .latency = 2e-3};
  return cluster;
}

double further() { return cost_constants().at("collective.latency.rank") * 1e-6; }

}  // namespace

TEST_CASE("A ring takes its latencies, and the bytes that a rank sends at its link's rate") {
  const Cluster node = hand_made(4);
  const RankGroup four{.ranks = 4, .per_node = 4};
  // 2 · 3/4 of 8 GB at 100 GB/s: 120 ms; half of that where it goes round once.
  CHECK(seconds_of(Collective::kAllReduce, 8e9, four, node) == Approx(1e-3 + 3 * further() + 0.120));
  CHECK(seconds_of(Collective::kReduceScatter, 8e9, four, node) == Approx(1e-3 + 1.5 * further() + 0.060));
  CHECK(seconds_of(Collective::kAllGather, 8e9, four, node) == Approx(1e-3 + 1.5 * further() + 0.060));
  // Each of 4 keeps its quarter: 3/4 of 8 GB leave.
  CHECK(seconds_of(Collective::kAllToAll, 8e9, four, node) == Approx(1e-3 + 0.060));
  CHECK(seconds_of(Collective::kAllReduce, 8e9, {.ranks = 1, .per_node = 1}, node) == 0);
}

TEST_CASE("A ring over nodes goes at the pace of the adapters that its ranks have together") {
  const Cluster two = hand_made(8);
  // Four ranks a node: 40 GB/s. 2 · 7/8 of 8 GB: 14 GB in 350 ms, one hop each time round: 4 ms. A tree: 16 GB in 400
  // ms.
  CHECK(seconds_of(Collective::kAllReduce, 8e9, {.ranks = 8, .per_node = 4}, two) ==
        Approx(1e-3 + 6 * further() + 4e-3 + 0.350));
  // One rank a node: 8 GB at 10 GB/s either way (ring: 2 · 1/2 · 8 GB).
  CHECK(seconds_of(Collective::kAllReduce, 8e9, {.ranks = 2, .per_node = 1}, two) == Approx(1e-3 + 4e-3 + 0.800));
  // Small messages over many nodes take the tree: 2 · log2(64) steps of 2 ms, not 2 · 63.
  const Cluster many = hand_made(256);
  const double small = seconds_of(Collective::kAllReduce, 8, {.ranks = 64, .per_node = 1}, many);
  CHECK(small == Approx(1e-3 + 12 * 2e-3).epsilon(1e-6));
}

TEST_CASE("Ranks lie tensor first, then context, data and stages") {
  const Cluster cluster = hand_made(32);
  const ParallelLayout layout{.data_ranks = 4, .tensor_ranks = 2, .stages = 4};
  CHECK(tensor_group(layout, cluster).per_node == 2);
  CHECK(data_group(layout, cluster).per_node == 2);  // two tensor groups fit on a node of 4
  CHECK(hops_cross_nodes(layout, cluster));          // stages are 8 ranks apart
  CHECK_FALSE(hops_cross_nodes({.data_ranks = 1, .tensor_ranks = 1, .stages = 32}, cluster));
}

TEST_CASE("All-reduces that were not fitted on are foretold within 6 % in the mean, 20 % at worst") {
  const auto text = read_text_file(std::string(PLIMSOLL_PUBLISHED) + "/all_reduce.csv", kMiB);
  REQUIRE(text);
  const auto table = read_csv(*text, "all_reduce.csv");
  REQUIRE(table);
  double sum = 0, worst = 0;
  int rows = 0;
  for (const CsvRow& row : table->rows) {
    const double ranks = *parse_number(row.fields[1]), bytes = *parse_number(row.fields[2]),
                 measured = *parse_number(row.fields[3]) * 1e-9;
    const auto count = static_cast<std::int64_t>(ranks);
    if (row.fields[0] != "A100 80GB SXM4" || count == 2 || count == 4 || count == 8)
      continue;  // V100 are no full mesh; 2, 4, 8 were fitted on
    const double error = std::abs(
        seconds_of(Collective::kAllReduce, bytes, {.ranks = count, .per_node = count}, test::gpt_on(8).cluster) /
            measured -
        1);
    sum += error;
    worst = std::max(worst, error);
    ++rows;
  }
  REQUIRE(rows == 44);
  CHECK(sum / rows < 0.060);
  CHECK(worst < 0.20);
}

TEST_CASE("All-reduces over a mesh of links go as fast as the rings through their boards, within 6 % in the mean") {
  const auto text = read_text_file(std::string(PLIMSOLL_PUBLISHED) + "/all_reduce.csv", kMiB);
  REQUIRE(text);
  const auto table = read_csv(*text, "all_reduce.csv");
  REQUIRE(table);
  const GpuEntry v100 = find_gpu(built_in_gpu_catalogue(), "V100 SXM2 32GB").value();
  const auto cluster = make_cluster(v100, {.gpus = 8, .nodes = {}, .network = {}});
  REQUIRE(cluster);
  double sum = 0, worst = 0;
  int rows = 0;
  for (const CsvRow& row : table->rows) {
    const auto count = static_cast<std::int64_t>(*parse_number(row.fields[1]));
    // Through the first five no ring goes: a chain, which sends both ways at once, is faster than is told.
    if (row.fields[0] != "V100 SXM2 32GB" || count == 5) continue;
    const double seconds =
        seconds_of(Collective::kAllReduce, *parse_number(row.fields[2]), {.ranks = count, .per_node = count}, *cluster);
    const double error = std::abs(seconds / (*parse_number(row.fields[3]) * 1e-9) - 1);
    sum += error;
    worst = std::max(worst, error);
    ++rows;
  }
  REQUIRE(rows == 66);
  CHECK(sum / rows < 0.060);
  CHECK(worst < 0.25);
}

}  // namespace plimsoll
