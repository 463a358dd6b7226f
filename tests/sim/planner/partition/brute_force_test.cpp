#include <catch2/catch.hpp>

#include <functional>
#include <limits>
#include <random>

#include "sim/planner/partition/partition_bound.h"
#include "sim/planner/partition/piper_partition.h"
#include "sim/planner/partition/solve_partition.h"
#include "sim/planner/partition/verify_partition.h"

namespace plimsoll {
namespace {

using Random = std::mt19937;

/// Up to six layers in a chain, or with further edges that make branches.
LayerGraph random_graph(Random& random) {
  LayerGraph graph;
  const std::size_t layers = 1 + random() % 6;
  const bool chain = random() % 2 == 0;
  for (std::size_t i = 0; i < layers; ++i) {
    Layer layer{.name = std::to_string(i)};
    layer.forward_seconds = static_cast<double>(1 + random() % 5);
    layer.backward_seconds = static_cast<double>(1 + random() % 9);
    layer.output = Bytes(static_cast<std::int64_t>(random() % 8));
    layer.parameters = Bytes(static_cast<std::int64_t>(random() % 8));
    graph.layers.push_back(layer);
    for (std::size_t k = 0; k < i; ++k) {
      if (chain ? k + 1 == i : random() % 3 == 0) graph.edges.push_back({LayerId(k), LayerId(i), graph.layers[k].output});
    }
  }
  return graph;
}

PartitionTask random_task(Random& random, PartitionMethod method) {
  PartitionTask task{.graph = random_graph(random), .levels = {{1 + random() % 4, static_cast<double>(1 + random() % 4)}}};
  if (random() % 2 == 0) task.memory = Bytes(static_cast<std::int64_t>(5 + random() % 120));
  const bool batches = method == PartitionMethod::kAlpa || method == PartitionMethod::kPiper;
  if (batches) task.micro_batches = 1 + random() % 6;
  if (method == PartitionMethod::kDnn) task.latency = random() % 2 == 0;
  if (method == PartitionMethod::kPiper) task.graph = with_plain_ways(std::move(task.graph));
  return task;
}

/// Calls `visit` with every ordered division of all layers into at most so many parts, lawful or not: the part of each
/// layer.
void all_divisions(std::size_t layers, std::size_t most, const std::function<void(const std::vector<std::size_t>&)>& visit) {
  std::vector<std::size_t> parts(layers);
  const std::function<void(std::size_t)> choose = [&](std::size_t layer) {
    if (layer == layers) return visit(parts);
    for (parts[layer] = 0; parts[layer] < most; ++parts[layer]) choose(layer + 1);
  };
  choose(0);
}

/// The least objective of all assignments that the verifier accepts; only its own rules are used.
class BruteForce {
 public:
  BruteForce(const PartitionTask& task, PartitionMethod method) : task_(task), method_(method) {}

  double run() {
    const std::size_t layers = task_.graph.layers.size(), most = std::min(layers, task_.devices());
    all_divisions(layers, most, [&](const std::vector<std::size_t>& parts) {
      Partition partition{.method = method_, .stages = std::vector<PartitionStage>(most)};
      for (std::size_t i = 0; i < parts.size(); ++i) partition.stages[parts[i]].layers.push_back(LayerId(i));
      while (!partition.stages.empty() && partition.stages.back().layers.empty()) partition.stages.pop_back();
      choose_replicas(partition, 0, task_.devices());
    });
    return best_;
  }

 private:
  void choose_replicas(Partition& partition, std::size_t stage, std::size_t left) {
    if (stage == partition.stages.size()) {
      const bool all_used = method_ == PartitionMethod::kPipeDream || method_ == PartitionMethod::kAlpa;
      if (!all_used || left == 0) choose_ways(partition, 0);
      return;
    }
    for (std::size_t m = 1; m <= (method_ == PartitionMethod::kDnn ? 1 : left); ++m) {
      if (m > left) return;
      const bool power = (m & (m - 1)) == 0 || m == task_.devices();
      if (method_ == PartitionMethod::kAlpa && !power) continue;
      if (method_ == PartitionMethod::kPiper && task_.micro_batches % m != 0) continue;
      partition.stages[stage].replicas = m;
      choose_replicas(partition, stage + 1, left - m);
    }
  }

  void choose_ways(Partition& partition, std::size_t layer) {
    if (method_ != PartitionMethod::kPiper || layer == task_.graph.layers.size()) return judge(partition);
    for (PartitionStage& stage : partition.stages) {
      stage.ways.resize(stage.layers.size());
      for (std::size_t i = 0; i < stage.layers.size(); ++i) {
        if (stage.layers[i].index != layer) continue;
        for (std::uint32_t way = 0; way < 2; ++way) {
          stage.ways[i] = way;
          choose_ways(partition, layer + 1);
        }
        return;
      }
    }
  }

  void judge(const Partition& partition) {
    const auto cost = verify_partition(task_, partition);
    if (cost) best_ = std::min(best_, cost->objective);
  }

  const PartitionTask& task_;
  PartitionMethod method_;
  double best_ = std::numeric_limits<double>::infinity();
};

/// Alpa's stages follow one order of the layers; elsewhere any cut is possible.
bool one_order_only(const PartitionTask& task, PartitionMethod method) {
  return method == PartitionMethod::kAlpa && !Ideals::of_one_order(task.graph).all();
}

void agree(PartitionMethod method, unsigned seed) {
  Random random(seed);
  const PartitionTask task = random_task(random, method);
  INFO(to_text(method) << " seed " << seed);
  const double best = BruteForce(task, method).run();
  const auto answer = solve_partition(task, method);
  INFO((answer ? "" : answer.error().text()));
  if (!answer && !task.memory) return;  // more devices than can be used
  REQUIRE(answer);
  if (one_order_only(task, method)) {
    if (answer->best) CHECK(answer->cost.objective >= best * (1 - 1e-9));
    return;
  }
  REQUIRE(answer->best.has_value() == (best < std::numeric_limits<double>::infinity()));
  if (!answer->best) return;
  CHECK(answer->cost.objective == Approx(best).epsilon(1e-9));
  CHECK(answer->lower_bound <= answer->cost.objective * (1 + 1e-9));
}

}  // namespace

TEST_CASE("every programme of partition finds what trying all assignments finds, and none is below its bound") {
  for (unsigned seed = 0; seed < 250; ++seed) {
    agree(PartitionMethod::kPipeDream, seed);
    agree(PartitionMethod::kDnn, seed);
    agree(PartitionMethod::kAlpa, seed);
    agree(PartitionMethod::kPiper, seed);
  }
}

TEST_CASE("a partition that does not fit fits with the memory that the answer names, and not with much less") {
  Random random(7);
  std::size_t seen = 0;
  for (int i = 0; i < 200; ++i) {
    PartitionTask task = random_task(random, PartitionMethod::kPipeDream);
    task.memory = Bytes(8);
    const auto answer = solve_partition(task, PartitionMethod::kPipeDream);
    REQUIRE(answer);
    if (answer->best) continue;
    REQUIRE(answer->least_memory);
    ++seen;
    task.memory = answer->least_memory;
    CHECK(solve_partition(task, PartitionMethod::kPipeDream)->best);
    task.memory = *answer->least_memory - Bytes(1);
    CHECK_FALSE(solve_partition(task, PartitionMethod::kPipeDream)->best);
  }
  CHECK(seen > 20);
}

TEST_CASE("verify_partition refuses a layer twice, none, or before what it reads, too many devices and too little memory") {
  LayerGraph graph;
  for (const char* name : {"a", "b"}) graph.layers.push_back({.name = name, .forward_seconds = 1, .output = Bytes(4)});
  graph.edges.push_back({LayerId(0), LayerId(1), Bytes(4)});
  PartitionTask task{.graph = graph, .levels = {{2, 1.0}}};
  const auto refused = [&](const std::vector<std::vector<LayerId>>& stages, std::size_t replicas) {
    Partition partition;
    for (const auto& layers : stages) partition.stages.push_back({.layers = layers, .replicas = replicas});
    return !verify_partition(task, partition).has_value();
  };
  const LayerId a(0), b(1);
  CHECK_FALSE(refused({{a}, {b}}, 1));
  CHECK_FALSE(refused({{a, b}}, 2));
  CHECK(refused({{b}, {a}}, 1));
  CHECK(refused({{a}, {a, b}}, 1));
  CHECK(refused({{a}}, 1));
  CHECK(refused({{a}, {b}}, 2));
  task.memory = Bytes(7);  // the first of two stages keeps its 4 bytes of two samples in flight
  CHECK(refused({{a}, {b}}, 1));
  task.memory = Bytes(8);
  CHECK_FALSE(refused({{a}, {b}}, 1));
}

}  // namespace plimsoll
