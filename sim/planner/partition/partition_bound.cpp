#include "sim/planner/partition/partition_bound.h"

#include <algorithm>
#include <limits>

namespace plimsoll {
namespace {

double seconds_of(const Layer& layer, bool forward_only) {
  return layer.forward_seconds + (forward_only ? 0 : layer.backward_seconds);
}

/// Device-seconds of a layer whose stage takes at most `most`: on more devices its gradients are summed.
double least_work(const Layer& layer, double most, const PartitionTask& task) {
  const double alone = seconds_of(layer, false);
  const double bytes = static_cast<double>(layer.parameters.count);
  for (std::size_t m = 1; m <= (task.straight ? 1 : task.devices()); ++m) {
    const auto replicas = static_cast<double>(m);
    const double work = alone + 4 * (replicas - 1) * bytes / (task.levels.front().bandwidth * replicas);
    if (work <= most * replicas) return work;
  }
  return std::numeric_limits<double>::infinity();
}

/// The least time at which replicas of one level have room for all work.
double replicated_bound(const PartitionTask& task) {
  double high = 0, low = 0;
  for (const Layer& layer : task.graph.layers) high += seconds_of(layer, false);
  const auto enough = [&](double most) {
    double work = 0;
    for (const Layer& layer : task.graph.layers) work += least_work(layer, most, task);
    return work <= most * static_cast<double>(task.devices());
  };
  for (int i = 0; i < 100 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return low;
}

double divided(const PartitionTask& task) {
  double sum = 0;
  for (const Layer& layer : task.graph.layers) sum += seconds_of(layer, false);
  return sum / static_cast<double>(task.devices());
}

double fullest_layer(const PartitionTask& task) {
  double most = 0;
  for (const Layer& layer : task.graph.layers) most = std::max(most, seconds_of(layer, false));
  return most;
}

/// The longest way through the graph, which no number of devices shortens.
double longest_way(const PartitionTask& task) {
  const std::vector<LayerId> order = *topological_order(task.graph);
  std::vector<double> ends(task.graph.layers.size());
  for (const LayerId id : order) {
    ends[id.index] += seconds_of(task.graph.layers[id.index], true);
    for (const LayerEdge& edge : task.graph.edges) {
      if (edge.from == id) ends[edge.to.index] = std::max(ends[edge.to.index], ends[id.index]);
    }
  }
  return *std::max_element(ends.begin(), ends.end());
}

double piper_bound(const PartitionTask& task) {
  double work = 0;
  for (const Layer& layer : task.graph.layers) {
    double least = std::numeric_limits<double>::infinity();
    for (const LayerWay& way : layer.ways) least = std::min(least, way.seconds * static_cast<double>(way.degree));
    work += least;
  }
  return work / static_cast<double>(task.devices());
}

}  // namespace

double partition_bound(const PartitionTask& task, PartitionMethod method) {
  switch (method) {
    case PartitionMethod::kPipeDream:
      return task.levels.size() == 1 ? replicated_bound(task) : divided(task);
    case PartitionMethod::kDnn:
      return task.latency ? longest_way(task) : std::max(divided(task), fullest_layer(task));
    case PartitionMethod::kAlpa:
      return divided(task) * static_cast<double>(task.micro_batches);
    case PartitionMethod::kPiper:
      return piper_bound(task);
  }
  return 0;
}

}  // namespace plimsoll
