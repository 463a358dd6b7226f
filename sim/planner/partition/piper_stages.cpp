#include "sim/planner/partition/piper_stages.h"

#include <algorithm>
#include <limits>
#include <set>

namespace plimsoll {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

PiperStages::PiperStages(const PartitionTask& task, const Ideals& ideals)
    : task_(task), ideals_(ideals), edges_(task.graph.layers.size()), pair_begin_(ideals.count() + 1) {
  std::set<std::size_t> degrees;
  for (const Layer& layer : task.graph.layers) {
    for (const LayerWay& way : layer.ways) degrees.insert(way.degree);
  }
  const std::size_t most = task.straight ? 1 : task.devices();
  for (const std::size_t degree : degrees) {
    for (std::size_t replicas = 1; replicas <= most && degree * replicas <= task.devices(); ++replicas) {
      if (task.micro_batches % replicas == 0) shapes_.push_back({degree, replicas});
    }
  }
  for (const LayerEdge& edge : task.graph.edges) {
    edges_[edge.from.index].push_back(&edge);
    edges_[edge.to.index].push_back(&edge);
  }
  for (std::size_t i = 0; i < ideals.count(); ++i) pair_begin_[i + 1] = pair_begin_[i] + ideals.below(i).size();
  known_.resize(pair_begin_.back() * shapes_.size());
}

Bytes PiperStages::room() const { return task_.memory.value_or(Bytes(std::numeric_limits<std::int64_t>::max() / 4)); }

double PiperStages::way_seconds(LayerId id, const LayerWay& way, std::uint32_t from, std::uint32_t to,
                                std::size_t replicas) const {
  const auto d = static_cast<double>(replicas);
  const double bandwidth = task_.levels.back().bandwidth;
  Bytes moved;
  for (const LayerEdge* edge : edges_[id.index]) {
    const LayerId other = edge->from == id ? edge->to : edge->from;
    if (ideals_[to].has(other) && !ideals_[from].has(other)) continue;
    const auto& sync = edge->from == id ? way.output_sync : way.input_sync;
    const auto more = sync.find(other);
    moved += edge->bytes + (more == sync.end() ? Bytes() : more->second);
  }
  const double gradients = 4 * (d - 1) * static_cast<double>(way.parameters.count) / (d * bandwidth);
  return (way.seconds + static_cast<double>(moved.count) / bandwidth) / d + gradients / static_cast<double>(task_.micro_batches);
}

std::vector<std::vector<WayCost>> PiperStages::costs(const std::vector<LayerId>& layers, std::uint32_t from, std::uint32_t to,
                                                     const StageShape& shape, std::int64_t in_flight,
                                                     std::vector<std::vector<std::uint32_t>>* numbers) const {
  std::vector<std::vector<WayCost>> costs(layers.size());
  if (numbers != nullptr) numbers->resize(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& ways = task_.graph.layers[layers[i].index].ways;
    for (std::uint32_t k = 0; k < ways.size(); ++k) {
      if (ways[k].degree != shape.degree) continue;
      costs[i].push_back(
          {way_seconds(layers[i], ways[k], from, to, shape.replicas), in_flight * ways[k].stashed + ways[k].fixed});
      if (numbers != nullptr) (*numbers)[i].push_back(k);
    }
  }
  return costs;
}

double PiperStages::seconds(std::uint32_t from, std::uint32_t to, std::size_t shape, std::size_t downstream, double enough) {
  const auto below = ideals_.below(to);
  const auto place = static_cast<std::size_t>(std::lower_bound(below.begin(), below.end(), from) - below.begin());
  auto& known = known_[(pair_begin_[to] + place) * shapes_.size() + shape];
  const std::size_t replicas = shapes_[shape].replicas;
  const std::size_t in_flight = (downstream + replicas - 1) / replicas;
  if (known.size() <= in_flight) known.resize(in_flight + 1);
  Known& time = known[in_flight];
  const bool known_enough = time.least >= enough || time.most <= enough || time.least == time.most;
  if (time.least >= 0 && known_enough) return time.least >= enough ? time.least : time.most;
  const auto layers = ideals_.between(from, to);
  const auto all = costs(layers, from, to, shapes_[shape], static_cast<std::int64_t>(in_flight), nullptr);
  auto choice = choose_ways(all, room());
  time = choice ? Known{choice->least_seconds, choice->seconds} : Known{kNever, kNever};
  if (time.least >= enough || time.most <= enough) return time.least >= enough ? time.least : time.most;
  choice = best_ways(all, room());
  exact_ = exact_ && choice->least_seconds == choice->seconds;
  time = {choice->seconds, choice->seconds};
  return time.most;
}

std::vector<std::uint32_t> PiperStages::ways(std::uint32_t from, std::uint32_t to, std::size_t shape,
                                             std::size_t downstream) const {
  const auto in_flight = static_cast<std::int64_t>((downstream + shapes_[shape].replicas - 1) / shapes_[shape].replicas);
  std::vector<std::vector<std::uint32_t>> numbers;
  const auto all = costs(ideals_.between(from, to), from, to, shapes_[shape], in_flight, &numbers);
  auto choice = *best_ways(all, room());
  for (std::size_t i = 0; i < choice.ways.size(); ++i) choice.ways[i] = numbers[i][choice.ways[i]];
  return choice.ways;
}

}  // namespace plimsoll
