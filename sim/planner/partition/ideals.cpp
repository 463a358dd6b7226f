#include "sim/planner/partition/ideals.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace plimsoll {
namespace {

/// By layer: what it reads.
std::vector<LayerSet> inputs_of(const LayerGraph& graph) {
  std::vector<LayerSet> inputs(graph.layers.size(), LayerSet(graph.layers.size()));
  for (const LayerEdge& edge : graph.edges) inputs[edge.to.index].insert(edge.from);
  return inputs;
}

}  // namespace

Ideals::Ideals(const LayerGraph& graph, const IdealLimits& limits) : graph_(&graph), order_(*topological_order(graph)) {
  all_ = enumerate(limits) && relate(limits.most_pairs);
  if (!all_) take_one_order();
  add_up();
}

/// Sets of one more layer from those before; false when they are too many.
bool Ideals::enumerate(const IdealLimits& limits) {
  const std::vector<LayerSet> inputs = inputs_of(*graph_);
  std::set<LayerSet> layer{LayerSet(graph_->layers.size())};
  while (!layer.empty()) {
    if (sets_.size() + layer.size() > limits.most + 1) return false;
    sets_.insert(sets_.end(), layer.begin(), layer.end());
    std::set<LayerSet> next;
    for (const LayerSet& set : layer) {
      for (const LayerId id : order_) {
        if (set.has(id) || !set.contains(inputs[id.index])) continue;
        LayerSet more = set;
        more.insert(id);
        next.insert(std::move(more));
      }
    }
    layer = std::move(next);
  }
  return true;
}

void Ideals::take_one_order() {
  sets_.assign(1, LayerSet(graph_->layers.size()));
  for (const LayerId id : order_) {
    sets_.push_back(sets_.back());
    sets_.back().insert(id);
  }
  below_.assign(sets_.size(), {});
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    below_[i].resize(i);
    std::iota(below_[i].begin(), below_[i].end(), 0u);
  }
  // No other order is possible when each layer reads the one before it.
  const std::vector<LayerSet> inputs = inputs_of(*graph_);
  all_ = true;
  for (std::size_t i = 1; i < order_.size(); ++i) all_ = all_ && inputs[order_[i].index].has(order_[i - 1]);
}

bool Ideals::relate(std::size_t most_pairs) {
  below_.assign(sets_.size(), {});
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (sets_[i].contains(sets_[k])) below_[i].push_back(static_cast<std::uint32_t>(k));
    }
    pairs += below_[i].size();
    if (pairs > most_pairs) return false;
  }
  return true;
}

void Ideals::add_up() {
  std::vector<LayerSet> readers(graph_->layers.size(), LayerSet(graph_->layers.size()));
  for (const LayerEdge& edge : graph_->edges) readers[edge.from.index].insert(edge.to);
  seconds_.assign(count(), 0);
  outputs_.resize(count());
  parameters_.resize(count());
  boundary_.resize(count());
  for (std::size_t i = 0; i < count(); ++i) {
    for (const LayerId id : order_) {
      if (!sets_[i].has(id)) continue;
      const Layer& layer = graph_->layers[id.index];
      seconds_[i] += layer.forward_seconds + layer.backward_seconds;
      outputs_[i] += layer.output;
      parameters_[i] += layer.parameters;
      if (!sets_[i].contains(readers[id.index])) boundary_[i] += layer.output;
    }
  }
  add_up_antichains(readers);
}

void Ideals::add_up_antichains(const std::vector<LayerSet>& readers) {
  const std::vector<LayerSet> inputs = inputs_of(*graph_);
  std::vector<LayerSet> behind(graph_->layers.size(), LayerSet(graph_->layers.size()));  // a layer and all before it
  std::vector<LayerSet> branched = behind;  // of those, what has readers that are not among them
  for (const LayerId id : order_) {
    LayerSet& all = behind[id.index];
    for (const LayerId other : order_) {
      if (inputs[id.index].has(other)) all.insert(behind[other.index]);
    }
    all.insert(id);
    for (const LayerId other : order_) {
      if (other != id && all.has(other) && !all.contains(readers[other.index])) branched[id.index].insert(other);
    }
  }
  antichain_.resize(count());
  for (std::size_t i = 1; i < count(); ++i) {
    LayerSet open(graph_->layers.size()), inner = open;
    for (const LayerId id : order_) {
      if (sets_[i].has(id)) inner.insert(inputs[id.index]);
    }
    for (const LayerId id : order_) {
      if (sets_[i].has(id) && !inner.has(id)) open.insert(id), open.insert(branched[id.index]);
    }
    for (const LayerId id : order_) {
      if (open.has(id)) antichain_[i] += graph_->layers[id.index].output;
    }
  }
}

std::vector<LayerId> Ideals::between(std::size_t from, std::size_t to) const {
  std::vector<LayerId> layers;
  for (const LayerId id : order_) {
    if (sets_[to].has(id) && !sets_[from].has(id)) layers.push_back(id);
  }
  return layers;
}

}  // namespace plimsoll
