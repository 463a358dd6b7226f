#include <catch2/catch.hpp>

#include "sim/cost/efficiencies.h"
#include "sim/parallel/cluster.h"
#include "sim/parallel/collectives.h"

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

TEST_CASE("What a ring inside a node reaches is said as a rate, or as NVLink where a bridge joins two boards") {
  CHECK(*parse_peers("12GB/s", board("RTX 4090"), 8) == Approx(12e9));
  CHECK(*parse_peers("96Gb/s", board("RTX 4090"), 8) == Approx(12e9));
  // Four links of an RTX 3090 carry 112.5 GB/s both ways: 56.25 one way, of which large messages reach a share.
  CHECK(*parse_peers("nvlink", board("RTX 3090"), 2) == Approx(56.25e9 * cost_constants().at("stack.ring.nvlink")));
  CHECK(parse_peers("nvlink", board("RTX 3090"), 4).error().what.find("4 of a node") != std::string::npos);
  CHECK(parse_peers("nvlink", board("RTX 4090"), 2).error().what.find("no NVLink") != std::string::npos);
  for (const char* module : {"A100 80GB SXM4", "V100 SXM2 16GB"}) {  // which go over NVLink anyway, V100 in the mesh that they have
    const auto usual = make_cluster(board(module), {.gpus = 8, .nodes = {}, .network = {}});
    const auto said = make_cluster(board(module), {.gpus = 8, .nodes = {}, .network = {}, .peers = "nvlink"});
    REQUIRE(said);
    CHECK(said->inside.rate == usual->inside.rate);
    CHECK_FALSE(said->peers_stated);
  }
  for (const char* wrong : {"", "fast", "12", "GB/s", "-1GB/s", "12GB/s@5us", "NVLink "}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_peers(wrong, board("RTX 3090"), 2));
  }
  const auto stated = make_cluster(board("V100 SXM2 16GB"), {.gpus = 8, .nodes = {}, .network = {}, .peers = "7GB/s"});
  REQUIRE(stated);
  CHECK(stated->inside.rate == Approx(7e9));
  // A ring of two: each sends half of 7 GB in an all-gather, and the mesh of these modules is not asked.
  const double start = stated->inside.latency;
  CHECK(seconds_of(Collective::kAllGather, 7e9, strided_group(2, 1, *stated), *stated) == Approx(0.5 + start));
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
