#include "sim/stack/link_mesh.h"

#include <algorithm>
#include <array>

#include "sim/cost/efficiencies.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kBoards = 8;
constexpr int kLinks = 6;  ///< of a V100

using LinkCounts = std::array<std::array<int, kBoards>, kBoards>;

// The hybrid cube mesh: two squares with their diagonals, and a link or two from each board to its partner.
constexpr LinkCounts kMesh{{{0, 1, 1, 2, 2, 0, 0, 0},
                            {1, 0, 2, 1, 0, 2, 0, 0},
                            {1, 2, 0, 2, 0, 0, 1, 0},
                            {2, 1, 2, 0, 0, 0, 0, 1},
                            {2, 0, 0, 0, 0, 1, 1, 2},
                            {0, 2, 0, 0, 1, 0, 2, 1},
                            {0, 0, 1, 0, 1, 2, 0, 2},
                            {0, 0, 0, 1, 2, 1, 2, 0}}};

/// Rings through all boards, each in one direction, one after another until no link is left for one.
class RingPacking {
 public:
  explicit RingPacking(const std::vector<std::int64_t>& boards) : boards_(boards), left_(kMesh) {
    for (const std::int64_t board : boards_) {
      int links = 0;
      for (const std::int64_t other : boards_) links += mesh_links(board, other);
      bound_ = std::min(bound_, links);
    }
    find_rings(1);
  }

  [[nodiscard]] int most() {
    pack(0, 0);
    return most_;
  }

 private:
  void find_rings(std::size_t place) {
    if (place == boards_.size()) {
      if (mesh_links(boards_.back(), boards_.front()) > 0) rings_.push_back(boards_);
      return;
    }
    for (std::size_t i = place; i < boards_.size(); ++i) {
      std::swap(boards_[place], boards_[i]);
      if (mesh_links(boards_[place - 1], boards_[place]) > 0) find_rings(place + 1);
      std::swap(boards_[place], boards_[i]);
    }
  }

  /// Takes a ring's links, or gives them back; false where one is missing.
  bool take(const std::vector<std::int64_t>& ring, int count) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      if (link(ring, i) < count) return false;
    }
    for (std::size_t i = 0; i < ring.size(); ++i) link(ring, i) -= count;
    return true;
  }

  int& link(const std::vector<std::int64_t>& ring, std::size_t i) {
    const auto from = static_cast<std::size_t>(ring[i]), to = static_cast<std::size_t>(ring[(i + 1) % ring.size()]);
    return left_[from][to];
  }

  void pack(std::size_t first, int packed) {
    most_ = std::max(most_, packed);
    for (std::size_t i = first; i < rings_.size() && most_ < bound_; ++i) {
      if (!take(rings_[i], 1)) continue;
      pack(i, packed + 1);
      take(rings_[i], -1);
    }
  }

  std::vector<std::int64_t> boards_;
  LinkCounts left_;
  std::vector<std::vector<std::int64_t>> rings_;
  int bound_ = kLinks;
  int most_ = 0;
};

using RingTable = std::array<std::array<int, kBoards + 1>, kBoards + 1>;

int worst_group(std::int64_t ranks, std::int64_t stride) {
  int worst = kLinks;
  for (std::int64_t first = 0; first < kBoards; ++first) {
    // Groups tile a node: `stride` side by side, then the next ones; where that leaves boards over, only the first are there.
    const bool tiles = kBoards % (stride * ranks) == 0;
    if (first % (stride * ranks) >= stride || (!tiles && first >= stride) || first + stride * (ranks - 1) >= kBoards) continue;
    std::vector<std::int64_t> boards;
    for (std::int64_t rank = 0; rank < ranks; ++rank) boards.push_back(first + rank * stride);
    worst = std::min(worst, mesh_rings(boards));
  }
  return std::max(1, worst);
}

RingTable make_table() {
  RingTable table{};
  for (std::int64_t ranks = 2; ranks <= kBoards; ++ranks) {
    for (std::int64_t stride = 1; stride * (ranks - 1) < kBoards; ++stride)
      table[static_cast<std::size_t>(ranks)][static_cast<std::size_t>(stride)] = worst_group(ranks, stride);
  }
  return table;
}

}  // namespace

bool has_link_mesh(const GpuEntry& gpu) {
  return gpu.architecture == "Volta" && gpu.name.find("SXM2") != std::string::npos && gpu.nvlink_gbs.value_or(0) > 0;
}

int mesh_links(std::int64_t board, std::int64_t other) {
  return kMesh[static_cast<std::size_t>(board)][static_cast<std::size_t>(other)];
}

int mesh_rings(const std::vector<std::int64_t>& boards) { return boards.size() < 2 ? 0 : RingPacking(boards).most(); }

int rings_of_group(std::int64_t ranks, std::int64_t stride) {
  static const RingTable table = make_table();
  if (ranks < 2 || stride < 1 || ranks > kBoards || stride * (ranks - 1) >= kBoards) return 1;
  return table[static_cast<std::size_t>(ranks)][static_cast<std::size_t>(stride)];
}

double mesh_rate(const GpuEntry& gpu, std::int64_t ranks, std::int64_t stride) {
  const double link = gpu.nvlink_gbs.value_or(0) / 2 / kLinks * 1e9;
  return cost_constants().at("collective.mesh") * link * rings_of_group(ranks, stride);
}

}  // namespace plimsoll
