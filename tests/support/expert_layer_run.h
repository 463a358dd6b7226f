#pragma once

#include "core/graph/expert_layer.h"
#include "tests/support/run_graph.h"

namespace plimsoll::test {

/// The mixture of experts of one block alone, in fp64.
class ExpertLayerRun {
 public:
  /// `spec` has experts in its first block; `groups` of them divide `rows`.
  ExpertLayerRun(const ModelSpec& spec, std::int64_t rows) : graph_(graph_of(spec, rows)), run_(graph_, 2) {}

  std::span<double> input() { return run_.values<double>(x_); }
  std::span<double> output() { return run_.values<double>(y_); }
  /// Probabilities of each token and expert, where the gating has them.
  std::span<double> scores() { return run_.values<double>(saved_.scores); }
  /// One double more than three a group and expert: core/graph/expert_shape.h.
  std::span<double> statistics() { return run_.values<double>(saved_.statistics); }
  /// All parameters of the block, those of other layers among them.
  std::span<double> parameters() { return run_.values<double>(run_.find(TensorKind::kParameter, GroupId(1u))); }
  std::span<double> parameter(ParameterRole role) {
    const ParameterTensor& of = *graph_.parameters.at(GroupId(1u)).find(role);
    return parameters().subspan(static_cast<std::size_t>(of.offset), static_cast<std::size_t>(of.elements()));
  }
  void forward() { run_.run(Phase::kForward); }
  [[nodiscard]] const Graph& graph() const { return graph_; }

 private:
  Graph graph_of(const ModelSpec& spec, std::int64_t rows) {
    GraphBuilder build(spec, {.precision = Precision::kFp64, .micro_batch = 1, .sequence = rows, .seed = 5}, {.workers = 2});
    LayerWriter write(build, {});
    build.enter(Phase::kForward, 0);
    x_ = write.activation(spec.hidden, "tokens");
    y_ = experts_forward(write, GroupId(1u), x_, true, saved_);
    return build.finish();
  }

  TensorId x_, y_;
  SavedExperts saved_;
  Graph graph_;
  GraphRun run_;
};

}  // namespace plimsoll::test
