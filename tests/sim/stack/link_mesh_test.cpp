#include "sim/stack/link_mesh.h"

#include <catch2/catch.hpp>

#include <numeric>

#include "sim/cost/efficiencies.h"

namespace plimsoll {
namespace {

GpuEntry gpu_named(std::string_view name) { return find_gpu(built_in_gpu_catalogue(), name).value(); }

std::vector<std::int64_t> first_boards(std::int64_t count) {
  std::vector<std::int64_t> boards(static_cast<std::size_t>(count));
  std::iota(boards.begin(), boards.end(), 0);
  return boards;
}

}  // namespace

TEST_CASE("Every board of the mesh has six links, and links go both ways") {
  for (std::int64_t board = 0; board < 8; ++board) {
    int links = 0;
    for (std::int64_t other = 0; other < 8; ++other) {
      links += mesh_links(board, other);
      CHECK(mesh_links(board, other) == mesh_links(other, board));
    }
    CHECK(links == 6);
  }
}

TEST_CASE("As many rings go through boards as their links allow") {
  // 0 and 1 share one link; 0-1-2 a triangle of single links, passed both ways; five have none: the fifth is joined to one.
  const int rings[] = {1, 2, 4, 0, 2, 4, 6};
  for (std::int64_t boards = 2; boards <= 8; ++boards) CHECK(mesh_rings(first_boards(boards)) == rings[boards - 2]);
  CHECK(mesh_rings({2, 3}) == 2);
  CHECK(mesh_rings({0, 7}) == 0);
  CHECK(rings_of_group(2, 1) == 1);  // 2 and 3 have two, but 0 and 1 have one
  CHECK(rings_of_group(3, 1) == 2);  // no second three tiles a node of eight
  CHECK(rings_of_group(4, 1) == 4);
  CHECK(rings_of_group(4, 2) == 2);
  CHECK(rings_of_group(2, 4) == 1);
}

TEST_CASE("A switch joins what a mesh does not") {
  CHECK(has_link_mesh(gpu_named("V100 SXM2 32GB")));
  for (const char* name : {"V100 SXM3 32GB", "V100 PCIe 32GB", "A100 80GB SXM4", "RTX 3090"})
    CHECK_FALSE(has_link_mesh(gpu_named(name)));
  const double link = 25e9 * cost_constants().at("collective.mesh");
  CHECK(mesh_rate(gpu_named("V100 SXM2 32GB"), 2, 1) == Approx(link));
  CHECK(mesh_rate(gpu_named("V100 SXM2 32GB"), 8, 1) == Approx(6 * link));
}

}  // namespace plimsoll
