#include "sim/planner/partition/verify_partition.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/planner/partition/count_stages.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string what) {
  return fail({.kind = ErrorKind::kDefect, .what = std::move(what), .where = "partition", .remedy = {}});
}

/// Devices that stages of one level take, where each stage's levels below must not take more than there are.
Result<std::size_t> machines_of(const PartitionTask& task, const std::vector<PartitionStage>& stages, std::size_t level) {
  std::size_t machines = 0;
  for (const PartitionStage& stage : stages) {
    machines += stage.replicas * stage.degree;
    if (stage.replicas == 0 || stage.degree == 0) return refuse("a stage on no device");
    if (stage.inner.empty()) continue;
    if (level == 0) return refuse("a stage is divided over more levels than there are");
    const auto inside = machines_of(task, stage.inner, level - 1);
    if (!inside) return inside;
    if (*inside > task.levels[level - 1].devices) return refuse(fmt::format("{} devices of level {} are used", *inside, level));
  }
  return machines;
}

/// By layer: the place of its stage among the leaves.
Result<std::vector<std::size_t>> places_of(const LayerGraph& graph, const std::vector<PartitionLeaf>& leaves) {
  std::vector<std::size_t> places(graph.layers.size(), leaves.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].stage->layers.empty()) return refuse(fmt::format("stage {} has no layers", i));
    for (const LayerId layer : leaves[i].stage->layers) {
      if (!layer.valid() || layer.index >= places.size()) return refuse(fmt::format("stage {} has an unknown layer", i));
      if (places[layer.index] != leaves.size()) return refuse(fmt::format("'{}' stands twice", graph.layers[layer.index].name));
      places[layer.index] = i;
    }
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] == leaves.size()) return refuse(fmt::format("'{}' stands in no stage", graph.layers[i].name));
  }
  for (const LayerEdge& edge : graph.edges) {
    if (places[edge.from.index] <= places[edge.to.index]) continue;
    return refuse(fmt::format("'{}' runs before '{}', which it reads", graph.layers[edge.to.index].name,
                              graph.layers[edge.from.index].name));
  }
  return places;
}

std::size_t machines_there(const PartitionTask& task, const Partition& partition) {
  return partition.method == PartitionMethod::kPipeDream ? task.levels.back().devices : task.devices();
}

}  // namespace

Result<PartitionCost> verify_partition(const PartitionTask& task, const Partition& partition) {
  const auto machines = machines_of(task, partition.stages, task.levels.size() - 1);
  if (!machines) return fail(machines.error());
  if (*machines > machines_there(task, partition)) return refuse(fmt::format("{} devices are used", *machines));
  const auto places = places_of(task.graph, leaves_of(partition));
  if (!places) return fail(places.error());
  auto cost = count_stages(task, partition, *places);
  if (!cost) return cost;
  for (const PartitionStageCost& stage : cost->stages) {
    cost->slowest_seconds = std::max(cost->slowest_seconds, stage.seconds);
    cost->memory = std::max(cost->memory, stage.memory);
  }
  if (partition.method == PartitionMethod::kPipeDream || partition.method == PartitionMethod::kPiper) {
    cost->objective = cost->slowest_seconds;
  }
  if (task.memory && cost->memory > *task.memory) {
    return refuse(fmt::format("a device holds {} bytes, {} are there", cost->memory.count, task.memory->count));
  }
  return cost;
}

}  // namespace plimsoll
