#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/optimizer_state.h"

namespace plimsoll {

/// Adds tensors and ops to a Graph; knows sizes and parameter views, not the order of a transformer.
class GraphBuilder {
 public:
  GraphBuilder(const ModelSpec& spec, const Recipe& recipe, const GraphOptions& options);

  /// A new tensor of `elements` of the compute type.
  TensorId make(TensorKind kind, std::int64_t elements, std::string name);
  /// A new tensor of a given type.
  TensorId make(TensorKind kind, std::int64_t elements, DType dtype, std::string name);
  /// The part of one parameter in its group's tensor of `kind`; an invalid id when the model has no such
  /// parameter, or trains it not and `kind` is of its training.
  TensorId parameter(TensorKind kind, GroupId group, ParameterRole role);
  /// The same of A or B of the adapter beside a block's matrix.
  TensorId adapter(TensorKind kind, std::int64_t block, ParameterRole role, AdapterTarget target);
  /// The tensor of a whole group, made on first use: parameters, gradients, accumulators or optimizer state.
  TensorId whole_group(TensorKind kind, GroupId group);
  /// The graph's LossScale, made on first use; an invalid id where the recipe scales no loss.
  TensorId loss_scale();
  /// A view of `elements` of `tensor` from `offset` on.
  TensorId view(TensorId tensor, std::int64_t offset, std::int64_t elements);
  [[nodiscard]] std::int64_t elements(TensorId tensor) const { return graph_.at(tensor).elements; }
  /// As `view`, counted in `dtype`, which a tensor of bytes may hold; the tensor itself where that is all of it.
  TensorId part(TensorId tensor, std::int64_t offset, std::int64_t elements, DType dtype);

  /// Appends an op of the current phase and block. Operands with an invalid tensor are optional ones that are absent.
  void add(OpKind kind, const OpShape& shape, const std::vector<Operand>& operands);
  /// As `add`, in another type than the compute type.
  void add(OpKind kind, const OpShape& shape, const std::vector<Operand>& operands, DType dtype);
  /// As `add`, with the op's scratch, if it needs any, as last operand.
  void add_with_workspace(OpKind kind, const OpShape& shape, const std::vector<Operand>& operands);

  void enter(Phase phase, std::int64_t block);

  [[nodiscard]] const ModelSpec& spec() const { return graph_.spec; }
  [[nodiscard]] const Recipe& recipe() const { return graph_.recipe; }
  [[nodiscard]] const ParameterLayout& parameters() const { return graph_.parameters; }
  [[nodiscard]] std::int64_t tokens() const { return graph_.recipe.tokens_per_micro_batch(); }

  Graph finish() { return std::move(graph_); }

 private:
  [[nodiscard]] OptimizerState shape_of_group(TensorKind kind, GroupId group) const;

  Graph graph_;
  GraphOptions options_;
  Phase phase_ = Phase::kForward;
  std::int64_t block_ = -1;
  std::array<std::vector<TensorId>, 11> groups_;  ///< by TensorKind, then group
};

}  // namespace plimsoll
