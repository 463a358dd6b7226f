#include "sim/planner/partition/count_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace plimsoll {
namespace {

double seconds_of(Bytes bytes, double bandwidth) { return static_cast<double>(bytes.count) / bandwidth; }

/// Counts from the profile itself, with no sums that a planner made.
class StageCounter {
 public:
  StageCounter(const PartitionTask& task, const Partition& partition, const std::vector<std::size_t>& places)
      : task_(task), partition_(partition), places_(places), leaves_(leaves_of(partition)) {}

  Result<PartitionCost> count() {
    switch (partition_.method) {
      case PartitionMethod::kPipeDream:
        count_pipedream();
        break;
      case PartitionMethod::kDnn:
        count_dnn();
        break;
      case PartitionMethod::kAlpa:
        count_alpa();
        break;
      case PartitionMethod::kPiper:
        return count_piper();
    }
    return cost_;
  }

 private:
  [[nodiscard]] const Layer& layer(LayerId id) const { return task_.graph.layers[id.index]; }

  [[nodiscard]] double compute(const PartitionStage& stage) const {
    double seconds = 0;
    for (const LayerId id : stage.layers) seconds += layer(id).forward_seconds + layer(id).backward_seconds;
    return seconds;
  }
  [[nodiscard]] Bytes parameters(const PartitionStage& stage) const {
    Bytes bytes;
    for (const LayerId id : stage.layers) bytes += layer(id).parameters;
    return bytes;
  }
  [[nodiscard]] Bytes outputs(const PartitionStage& stage) const {
    Bytes bytes;
    for (const LayerId id : stage.layers) bytes += layer(id).output;
    return bytes;
  }

  /// Outputs of the stages up to that one which later ones read.
  [[nodiscard]] Bytes boundary_after(std::size_t leaf) const {
    std::set<LayerId> read;
    for (const LayerEdge& edge : task_.graph.edges) {
      if (places_[edge.from.index] <= leaf && places_[edge.to.index] > leaf) read.insert(edge.from);
    }
    Bytes bytes;
    for (const LayerId id : read) bytes += layer(id).output;
    return bytes;
  }

  // PipeDream: see the README for what is taken over as published.

  /// What a cut after that stage moves: outputs of the last layers and of all from which branches have not joined again.
  [[nodiscard]] Bytes antichain_after(std::size_t leaf) const {
    std::set<LayerId> inside;
    for (const LayerEdge& edge : task_.graph.edges) {
      if (places_[edge.to.index] <= leaf) inside.insert(edge.from);
    }
    std::set<LayerId> moved;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] > leaf || inside.contains(LayerId(i))) continue;
      moved.insert(LayerId(i));
      const std::set<LayerId> behind = all_behind(LayerId(i));
      for (const LayerEdge& edge : task_.graph.edges) {
        if (edge.from.index != i && behind.contains(edge.from) && !behind.contains(edge.to)) moved.insert(edge.from);
      }
    }
    Bytes bytes;
    for (const LayerId id : moved) bytes += layer(id).output;
    return bytes;
  }

  /// A layer and all that it needs.
  [[nodiscard]] std::set<LayerId> all_behind(LayerId id) const {
    std::set<LayerId> behind{id};
    for (std::vector<LayerId> open{id}; !open.empty();) {
      const LayerId next = open.back();
      open.pop_back();
      for (const LayerEdge& edge : task_.graph.edges) {
        if (edge.to == next && behind.insert(edge.from).second) open.push_back(edge.from);
      }
    }
    return behind;
  }

  void count_pipedream() { count_level(partition_.stages, task_.levels.size() - 1, 0, 1); }

  /// Stages of a level; `after` devices come after them all for each of `own` devices that one of their parts has.
  void count_level(const std::vector<PartitionStage>& stages, std::size_t level, std::size_t after, std::size_t own) {
    std::size_t later = 0;
    for (const PartitionStage& stage : stages) later += stage.replicas;
    const double bandwidth = task_.levels[level].bandwidth;
    const std::size_t inside = level == 0 ? 1 : task_.levels[level - 1].devices;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const PartitionStage& stage = stages[i];
      const std::size_t first = cost_.stages.size();
      later -= stage.replicas;
      const std::size_t all_after = (after + later * own) * inside, all_own = own * stage.replicas;
      if (level > 0) count_level(stage.inner, level - 1, all_after, all_own);
      if (level == 0) count_leaf(stage, after + later * own, all_own);
      const auto replicas = static_cast<double>(stage.replicas);
      double sync = 4 * (replicas - 1) * seconds_of(parameters(stage), bandwidth) / replicas;
      if (i == 0) sync /= static_cast<double>(inside);
      const std::size_t last = cost_.stages.size() - 1;
      const bool ends = last + 1 == leaves_.size();
      const double in = i == 0 ? 0 : 2 * seconds_of(antichain_after(first - 1), bandwidth) / replicas;
      const double out = i == 0 || ends ? 0 : 2 * seconds_of(antichain_after(last), bandwidth) / replicas;
      for (std::size_t leaf = first; leaf <= last; ++leaf) {
        PartitionStageCost& cost = cost_.stages[leaf];
        cost.sync_seconds += sync;
        cost.transfer_seconds = std::max({cost.transfer_seconds / replicas, in, out});
        cost.seconds = std::max({(cost.seconds + sync) / replicas, in, out});
      }
    }
  }

  void count_leaf(const PartitionStage& stage, std::size_t after, std::size_t own) {
    PartitionStageCost cost;
    cost.compute_seconds = cost.seconds = compute(stage);
    const std::size_t in_flight = (after + own - 1) / own + 1;
    cost.memory = static_cast<std::int64_t>(in_flight) * (parameters(stage) + outputs(stage));
    cost_.stages.push_back(cost);
  }

  // dnn-partitioning: sums of compute and transfers, no replicas.

  /// Tensors over a stage's boundaries, each once.
  [[nodiscard]] Bytes crossing(std::size_t leaf) const {
    std::set<LayerId> crossing;
    for (const LayerEdge& edge : task_.graph.edges) {
      const bool from = places_[edge.from.index] == leaf, to = places_[edge.to.index] == leaf;
      if (from != to) crossing.insert(edge.from);
    }
    Bytes bytes;
    for (const LayerId id : crossing) bytes += layer(id).output;
    return bytes;
  }

  void count_dnn() {
    std::vector<double> ends(leaves_.size());
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const PartitionStage& stage = *leaves_[i].stage;
      PartitionStageCost cost;
      cost.compute_seconds = compute(stage);
      if (task_.latency) {
        for (const LayerId id : stage.layers) cost.compute_seconds -= layer(id).backward_seconds;
      }
      cost.transfer_seconds = (task_.latency ? 1 : 2) * seconds_of(crossing(i), task_.levels.back().bandwidth);
      cost.seconds = cost.compute_seconds + cost.transfer_seconds;
      cost.memory = parameters(stage) + outputs(stage);
      cost_.stages.push_back(cost);
      for (const LayerEdge& edge : task_.graph.edges) {
        if (places_[edge.to.index] == i && places_[edge.from.index] != i) {
          ends[i] = std::max(ends[i], ends[places_[edge.from.index]]);
        }
      }
      ends[i] += cost.seconds;
      cost_.objective = std::max(cost_.objective, task_.latency ? ends[i] : cost.seconds);
    }
  }

  // Alpa: synchronous, all stages' times and the slowest one's for every further micro-batch.

  [[nodiscard]] double mesh_sync(Bytes bytes, std::size_t devices) const {
    const std::size_t inside = std::min(devices, task_.levels.front().devices), outside = devices / inside;
    const auto m = static_cast<double>(inside), n = static_cast<double>(outside);
    return 4 * (m - 1) / m * seconds_of(bytes, task_.levels.front().bandwidth) +
           4 * (n - 1) / n * seconds_of(bytes, task_.levels.back().bandwidth);
  }

  void count_alpa() {
    double sum = 0, slowest = 0;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const PartitionStage& stage = *leaves_[i].stage;
      const auto devices = static_cast<double>(stage.replicas);
      PartitionStageCost cost;
      cost.compute_seconds = compute(stage);
      cost.sync_seconds = mesh_sync(parameters(stage), stage.replicas) / static_cast<double>(task_.micro_batches);
      if (i > 0) cost.transfer_seconds = 2 * seconds_of(boundary_after(i - 1), task_.levels.back().bandwidth) / devices;
      cost.seconds = cost.compute_seconds / devices + cost.sync_seconds + cost.transfer_seconds;
      const std::int64_t in_flight = static_cast<std::int64_t>(leaves_.size() - i);
      const auto own = static_cast<std::int64_t>(stage.replicas);
      cost.memory = 4 * parameters(stage) + Bytes((in_flight * outputs(stage).count + own - 1) / own);
      sum += cost.seconds;
      slowest = std::max(slowest, cost.seconds);
      cost_.stages.push_back(cost);
    }
    cost_.objective = sum + static_cast<double>(task_.micro_batches - 1) * slowest;
  }

  // Piper: every layer in a way of its own.

  Result<PartitionCost> count_piper() {
    std::size_t replicas = 0;
    for (const PartitionLeaf& leaf : leaves_) replicas += leaf.stage->replicas;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const PartitionStage& stage = *leaves_[i].stage;
      if (stage.ways.size() != stage.layers.size()) return refuse(i, "not every layer has a way");
      PartitionStageCost cost;
      const auto d = static_cast<double>(stage.replicas);
      const auto in_flight = static_cast<std::int64_t>((replicas + stage.replicas - 1) / stage.replicas);
      replicas -= stage.replicas;
      for (std::size_t k = 0; k < stage.layers.size(); ++k) {
        const auto& ways = layer(stage.layers[k]).ways;
        if (stage.ways[k] >= ways.size() || ways[stage.ways[k]].degree != stage.degree)
          return refuse(i, "a layer's way is not there");
        count_way(stage.layers[k], ways[stage.ways[k]], i, d, in_flight, cost);
      }
      cost.seconds = cost.compute_seconds / d + cost.sync_seconds + cost.transfer_seconds;
      cost_.stages.push_back(cost);
    }
    return cost_;
  }

  void count_way(LayerId id, const LayerWay& way, std::size_t leaf, double d, std::int64_t in_flight,
                 PartitionStageCost& cost) const {
    const double bandwidth = task_.levels.back().bandwidth;
    cost.compute_seconds += way.seconds;
    cost.sync_seconds += 4 * (d - 1) * seconds_of(way.parameters, bandwidth) / d / static_cast<double>(task_.micro_batches);
    cost.memory += in_flight * way.stashed + way.fixed;
    for (const LayerEdge& edge : task_.graph.edges) {
      if (edge.to == id && places_[edge.from.index] != leaf) {
        const auto more = way.input_sync.find(edge.from);
        cost.transfer_seconds += seconds_of(edge.bytes + (more == way.input_sync.end() ? Bytes() : more->second), bandwidth) / d;
      }
      if (edge.from == id && places_[edge.to.index] != leaf) {
        const auto more = way.output_sync.find(edge.to);
        cost.transfer_seconds += seconds_of(edge.bytes + (more == way.output_sync.end() ? Bytes() : more->second), bandwidth) / d;
      }
    }
  }

  static tl::unexpected<Error> refuse(std::size_t leaf, std::string what) {
    return fail({.kind = ErrorKind::kDefect, .what = std::move(what), .where = fmt::format("stage {}", leaf), .remedy = {}});
  }

  const PartitionTask& task_;
  const Partition& partition_;
  const std::vector<std::size_t>& places_;
  std::vector<PartitionLeaf> leaves_;
  PartitionCost cost_;
};

}  // namespace

Result<PartitionCost> count_stages(const PartitionTask& task, const Partition& partition,
                                   const std::vector<std::size_t>& places) {
  return StageCounter(task, partition, places).count();
}

}  // namespace plimsoll
