#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "core/plan/strategy.h"
#include "core/platform/platform.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/step_lowering.h"

namespace plimsoll {

/// A model's step and what follows from it under every strategy.
struct ShorterModel {
  explicit ShorterModel(std::shared_ptr<const Graph> of);
  ShorterModel(const ShorterModel&) = delete;
  ShorterModel& operator=(const ShorterModel&) = delete;

  std::shared_ptr<const Graph> owner;
  const Graph& graph;
  StepOutline outline;
  std::vector<GroupSizes> sizes;
};

/// A model with fewer of its blocks, built once each. May be asked from several threads.
class ShorterModels {
 public:
  /// `graph` is the whole model's step on that platform, and outlives this.
  ShorterModels(const Graph& graph, const Platform& platform);

  /// The step with that many layers.
  std::shared_ptr<const ShorterModel> with(std::int64_t layers);
  [[nodiscard]] const Graph& whole() const { return graph_; }
  [[nodiscard]] const Platform& platform() const { return platform_; }
  /// So many blocks after a block comes one with the same kernels; 0 where the model's blocks do not repeat.
  [[nodiscard]] std::int64_t period() const { return period_; }

 private:
  const Graph& graph_;
  const Platform& platform_;
  std::int64_t period_ = 0;
  struct Built {
    std::once_flag once;
    std::shared_ptr<const ShorterModel> model;
  };
  std::mutex mutex_;
  std::map<std::int64_t, Built> models_;
};

/// A model and a strategy with blocks left out where the strategy treats their neighbours alike.
struct ShorterPlan {
  std::int64_t layers = 0;
  Strategy strategy;
};

/// Which blocks can be left out: stretches of blocks that a strategy treats alike, and how many each can spare time after
/// time.
struct Folding {
  std::int64_t times = 0;            ///< that they can be spared
  std::vector<std::int64_t> cuts;    ///< where stretches begin, and behind the last one the number of layers
  std::vector<std::int64_t> spared;  ///< blocks of each stretch, each time

  [[nodiscard]] std::int64_t spared_at_once() const { return std::accumulate(spared.begin(), spared.end(), std::int64_t{0}); }
  /// Blocks of the two shorter models together.
  [[nodiscard]] std::int64_t written(std::int64_t layers) const { return 2 * layers - (2 * times - 1) * spared_at_once(); }
  /// With blocks left out that many times.
  [[nodiscard]] ShorterPlan shorter(const Strategy& strategy, std::int64_t left_out) const;
};

/// Nothing where the model's blocks do not repeat, or where little of it can be left out.
std::optional<Folding> fold_layers(const Strategy& strategy, std::int64_t layers, std::int64_t period);

/// What the strategy needs of each space, about and hardly ever too much, from two models with most blocks left out: what a plan
/// holds at one moment is a sum over its blocks, the most of it over all moments convex in how many there are of each kind, and
/// so no less than on the line through two shorter models, where these hold it at the same moments. Where not it may be high: who
/// refuses by it leaves it some room (try_strategy). Nothing where blocks cannot be left out. Fails as lower_to_plan does.
Result<std::optional<std::vector<SpaceNeed>>> folded_bound(ShorterModels& models, const Strategy& strategy);

}  // namespace plimsoll
