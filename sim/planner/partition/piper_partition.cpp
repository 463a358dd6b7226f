#include "sim/planner/partition/piper_partition.h"

#include <algorithm>
#include <limits>

#include "sim/planner/partition/piper_stages.h"

namespace plimsoll {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNone = 0xffffffffu;

/// The fewest devices for the layers after a set when no stage takes longer than a given time.
class PiperSearch {
 public:
  PiperSearch(const PartitionTask& task, const Ideals& ideals)
      : task_(task), ideals_(ideals), stages_(task, ideals), devices_(task.devices()), cells_(ideals.count() * (devices_ + 1)) {}

  std::optional<Partition> run() {
    double high = attempt(kNever);
    if (high == kNever) return std::nullopt;
    Partition best = trace();
    double low = 0;
    while (high - low > 1e-12 * high) {
      const double middle = low + (high - low) / 2;
      const double found = attempt(middle);
      if (found == kNever) {
        low = middle;
      } else {
        high = found;
        best = trace();
      }
    }
    best.exact = ideals_.all() && stages_.exact();
    return best;
  }

 private:
  /// After a set, with so many replicas in all stages from there on.
  struct Cell {
    std::uint32_t devices = kNone, to = 0, shape = 0;
    double slowest = 0;
  };

  Cell& cell(std::size_t ideal, std::size_t replicas) { return cells_[ideal * (devices_ + 1) + replicas]; }

  /// The slowest stage of an assignment in which none takes longer than `most`; never when there is none.
  double attempt(double most) {
    cells_.assign(cells_.size(), {});
    cell(ideals_.last(), 0).devices = 0;
    for (std::uint32_t to = ideals_.last(); to > 0; --to) {
      for (const std::uint32_t from : ideals_.below(to)) {
        for (std::uint32_t shape = 0; shape < stages_.shapes().size(); ++shape) extend(from, to, shape, most);
      }
    }
    double best = kNever;
    for (std::size_t s = 1; s <= devices_; ++s) {
      if (cell(0, s).devices == kNone || cell(0, s).slowest >= best) continue;
      best = cell(0, s).slowest;
      chosen_ = s;
    }
    return best;
  }

  void extend(std::uint32_t from, std::uint32_t to, std::uint32_t shape, double most) {
    const std::size_t replicas = stages_.shapes()[shape].replicas, more = replicas * stages_.shapes()[shape].degree;
    double seconds = 0;
    std::size_t known_in_flight = 0;
    for (std::size_t s = 0; s + replicas <= devices_; ++s) {
      const Cell& rest = cell(to, s);
      if (rest.devices == kNone || rest.devices + more > devices_) continue;
      const std::size_t in_flight = (s + 2 * replicas - 1) / replicas;
      if (in_flight != known_in_flight) seconds = stages_.seconds(from, to, shape, s + replicas, most);
      known_in_flight = in_flight;
      if (!(seconds <= most) || seconds == kNever) return;  // more samples in flight take no less
      Cell& known = cell(from, s + replicas);
      const Cell found{static_cast<std::uint32_t>(rest.devices + more), to, shape, std::max(rest.slowest, seconds)};
      if (found.devices < known.devices || (found.devices == known.devices && found.slowest < known.slowest)) known = found;
    }
  }

  Partition trace() {
    Partition partition{.method = PartitionMethod::kPiper, .stages = {}};
    std::size_t s = chosen_;
    for (std::uint32_t from = 0; from != ideals_.last();) {
      const Cell& at = cell(from, s);
      const StageShape& shape = stages_.shapes()[at.shape];
      PartitionStage stage{.layers = ideals_.between(from, at.to), .replicas = shape.replicas, .degree = shape.degree};
      stage.ways = stages_.ways(from, at.to, at.shape, s);
      partition.stages.push_back(std::move(stage));
      from = at.to;
      s -= shape.replicas;
    }
    return partition;
  }

  const PartitionTask& task_;
  const Ideals& ideals_;
  PiperStages stages_;
  std::size_t devices_, chosen_ = 0;
  std::vector<Cell> cells_;  ///< by set and replicas
};

}  // namespace

LayerGraph with_plain_ways(LayerGraph graph) {
  std::vector<Bytes> inputs(graph.layers.size());
  for (const LayerEdge& edge : graph.edges) inputs[edge.to.index] += edge.bytes;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    Layer& layer = graph.layers[i];
    if (!layer.ways.empty()) continue;
    LayerWay kept{.name = "keep", .seconds = layer.forward_seconds + layer.backward_seconds, .parameters = layer.parameters};
    kept.stashed = layer.output;
    kept.fixed = 2 * layer.parameters;
    LayerWay again = kept;
    again.name = "recompute";
    again.seconds += layer.forward_seconds;
    again.stashed = inputs[i];
    layer.ways = {std::move(kept), std::move(again)};
  }
  return graph;
}

std::optional<Partition> piper_partition(const PartitionTask& task, const Ideals& ideals) {
  return PiperSearch(task, ideals).run();
}

}  // namespace plimsoll
