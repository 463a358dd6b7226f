#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace plimsoll {

/// Ops of one phase and block that run one after another, by their index in the graph.
struct StepRun {
  Phase phase = Phase::kForward;
  std::int64_t block = -1;
  std::string_view name;
  std::vector<std::size_t> ops;
  std::vector<TensorId> completes = {};  ///< what the optimizer reads and this is the last run to write
};

/// What of a graph's step is the same under every strategy, found once for who lowers many.
struct StepOutline {
  /// `graph` outlives it.
  explicit StepOutline(const Graph& graph);

  /// A tensor that a group of parameters has as a whole.
  struct OfGroup {
    TensorId tensor;
    GroupId group;
  };

  std::vector<StepRun> runs;
  std::size_t turn = 0;                                  ///< the last forward run; the first backward run follows
  std::vector<std::vector<std::size_t>> runs_of_block;   ///< by block: indices of its runs
  std::vector<TensorId> whole;                           ///< by tensor: itself, or what it is a part of
  std::vector<OfGroup> parameters;                       ///< that no other tensor is a part of
  std::vector<TensorId> summed_gradients;                ///< by group: what the optimizer reads
  std::vector<std::vector<const Op*>> update_ops;        ///< by group: its update's kernels, none where nothing is trained
  std::map<TensorId, std::vector<const Op*>> once_a_step;  ///< by gradient (sum): what joins it and takes its norm

 private:
  void find_runs(const Graph& graph);
  void find_completing_runs(const Graph& graph);
  void find_optimizer(const Graph& graph);
};

/// What a step's gradients are summed in.
TensorKind summed_kind(const Graph& graph);

}  // namespace plimsoll
