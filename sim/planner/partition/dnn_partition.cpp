#include "sim/planner/partition/dnn_partition.h"

#include <algorithm>
#include <limits>

#include "sim/planner/partition/crossing_tensors.h"

namespace plimsoll {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Cell {
  double seconds = kNever;
  std::uint32_t split = 0;
};

}  // namespace

std::optional<Partition> dnn_partition(const PartitionTask& task, const Ideals& ideals) {
  const CrossingTensors tensors(ideals);
  const std::size_t devices = std::min(task.devices(), task.graph.layers.size()), row = devices + 1;
  std::vector<Cell> cells(ideals.count() * row);  // by set, and devices that it may use
  for (std::size_t d = 0; d <= devices; ++d) cells[d].seconds = 0;
  for (std::uint32_t to = 1; to < ideals.count(); ++to) {
    for (const std::uint32_t from : ideals.below(to)) {
      const double compute = ideals.seconds(to) - ideals.seconds(from);
      if (compute >= cells[to * row + 1].seconds) continue;  // no number of devices is better for it
      const Bytes size = ideals.parameters(to) + ideals.outputs(to) - ideals.parameters(from) - ideals.outputs(from);
      if (task.memory && size > *task.memory) continue;
      const double load = compute + 2 * static_cast<double>(tensors.crossing(from, to).count) / task.levels.back().bandwidth;
      for (std::size_t d = 1; d <= devices; ++d) {
        const double seconds = std::max(cells[from * row + d - 1].seconds, load);
        if (seconds < cells[to * row + d].seconds) cells[to * row + d] = {seconds, from};
      }
    }
  }
  if (cells.back().seconds == kNever) return std::nullopt;
  Partition partition{.method = PartitionMethod::kDnn, .stages = {}};
  std::size_t d = devices;
  for (std::uint32_t to = ideals.last(); to != 0; --d) {
    const std::uint32_t from = cells[to * row + d].split;
    partition.stages.insert(partition.stages.begin(), PartitionStage{.layers = ideals.between(from, to)});
    to = from;
  }
  return partition;
}

}  // namespace plimsoll
