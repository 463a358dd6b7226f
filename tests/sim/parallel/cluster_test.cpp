#include <catch2/catch.hpp>

#include "sim/cost/efficiencies.h"
#include "sim/parallel/cluster.h"

namespace plimsoll {
namespace {

const GpuEntry& board(const char* name) {
  static std::vector<GpuEntry> kept;
  kept.reserve(8);
  kept.push_back(*find_gpu(built_in_gpu_catalogue(), name));
  return kept.back();
}

}  // namespace

TEST_CASE("A network is read a GPU or a node, in bits or bytes, with its latency") {
  const double reached = cost_constants().at("collective.network");
  CHECK(parse_network("25GB/s", 8)->rate == Approx(25e9 * reached));
  // 8 adapters of 200 Gb/s for 4 GPUs: 8 · 200 / 8 / 4 = 50 GB/s each.
  CHECK(parse_network("8x200Gb/s", 4)->rate == Approx(50e9 * reached));
  CHECK(parse_network("1GB/s@5us", 8)->latency == Approx(5e-6));
  for (const char* wrong :
       {"", "fast", "25", "GB/s", "25GB/s@", "25GB/s@5", "-1GB/s", "25 GB/s", "8x", "25GB/s@5us!"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_network(wrong, 8));
  }
}

TEST_CASE("Nodes without a known network are refused by name, one node is not") {
  CHECK(make_cluster(board("RTX 4090"), {.gpus = 8, .nodes = {}, .network = {}}));
  const auto two = make_cluster(board("RTX 4090"), {.gpus = 16, .nodes = {}, .network = {}});
  REQUIRE_FALSE(two);
  CHECK(two.error().where == "--network");
  CHECK(make_cluster(board("RTX 4090"), {.gpus = 16, .nodes = {}, .network = "1GB/s"}));
  CHECK(make_cluster(board("RTX 4090"), {.gpus = 16, .nodes = 1, .network = {}}));
  CHECK_FALSE(make_cluster(board("A100 80GB SXM4"), {.gpus = 16, .nodes = 3, .network = {}}));
}

}  // namespace plimsoll
