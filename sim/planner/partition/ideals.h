#pragma once

#include <span>
#include <vector>

#include "sim/planner/partition/layer_set.h"

namespace plimsoll {

/// How many sets a planner can take on.
struct IdealLimits {
  std::size_t most = 20'000;
  std::size_t most_pairs = 12'000'000;
};

/// Sets of layers with which all that they read are in too: every place at which a pipeline can be cut, and the states of
/// the programmes here. 0 is the empty set, the last one is all layers, and a smaller set has a smaller number. PipeDream
/// reaches the same states as antichains, their last layers.
class Ideals {
 public:
  /// All of them or, where they are more than the limits allow, only the beginnings of one topological order. `graph`
  /// has no circles and outlives this.
  explicit Ideals(const LayerGraph& graph, const IdealLimits& limits = {});

  /// The beginnings of one topological order.
  static Ideals of_one_order(const LayerGraph& graph) { return Ideals(graph, {.most = 0, .most_pairs = 0}); }

  [[nodiscard]] const LayerGraph& graph() const { return *graph_; }
  [[nodiscard]] std::size_t count() const { return sets_.size(); }
  [[nodiscard]] std::uint32_t last() const { return static_cast<std::uint32_t>(sets_.size() - 1); }
  /// False when there are more ways to cut than these.
  [[nodiscard]] bool all() const { return all_; }
  [[nodiscard]] const LayerSet& operator[](std::size_t index) const { return sets_[index]; }

  /// Numbers of the sets within this one, smallest first, without itself.
  [[nodiscard]] std::span<const std::uint32_t> below(std::size_t index) const { return below_[index]; }

  /// Layers of the second set that are not in the first, in topological order.
  [[nodiscard]] std::vector<LayerId> between(std::size_t from, std::size_t to) const;

  // Sums over a set's layers.
  [[nodiscard]] double seconds(std::size_t index) const { return seconds_[index]; }  ///< forward and backward
  [[nodiscard]] Bytes outputs(std::size_t index) const { return outputs_[index]; }   ///< of all of them
  [[nodiscard]] Bytes parameters(std::size_t index) const { return parameters_[index]; }
  [[nodiscard]] Bytes boundary(std::size_t index) const { return boundary_[index]; }  ///< outputs that others read
  /// The same as PipeDream counts it: of the last layers, and of all that branched and whose branches have not joined.
  [[nodiscard]] Bytes antichain(std::size_t index) const { return antichain_[index]; }

 private:
  bool enumerate(const IdealLimits& limits);
  void take_one_order();
  bool relate(std::size_t most_pairs);
  void add_up();
  void add_up_antichains(const std::vector<LayerSet>& readers);

  const LayerGraph* graph_;
  std::vector<LayerId> order_;
  std::vector<LayerSet> sets_;
  std::vector<std::vector<std::uint32_t>> below_;
  std::vector<double> seconds_;
  std::vector<Bytes> outputs_, parameters_, boundary_, antichain_;
  bool all_ = true;
};

}  // namespace plimsoll
