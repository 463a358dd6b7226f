#pragma once

#include <cstdint>

#include "core/graph/adapter_layer.h"
#include "core/graph/graph_builder.h"
#include "core/model/expert_slice.h"

namespace plimsoll {

/// Names of the parameters of a layer with a weight and perhaps a bias.
struct WeightAndBias {
  ParameterRole weight;
  ParameterRole bias;
};

/// The tensors of batch_parts; an id is invalid where the model has no such part.
struct BatchTensors {
  TensorId tokens, extents, labels, patches, targets;
};

/// Writes the kernels of single layers, forward and backward, for all tokens of a micro-batch. It knows the parameters of a
/// layer by their roles, not which layers a block has.
class LayerWriter {
 public:
  /// For all tokens of a micro-batch, whose sequences have `sequence` of them (0: as many as the recipe says).
  LayerWriter(GraphBuilder& build, const BatchTensors& batch, std::int64_t sequence = 0)
      : build_(build),
        batch_(batch),
        adapters_(build),
        sequence_(sequence > 0 ? sequence : build.recipe().sequence),
        rows_(build.recipe().micro_batch * sequence_) {}

  /// For so many rows of the same.
  [[nodiscard]] LayerWriter of_rows(std::int64_t rows) const {
    LayerWriter other = *this;
    other.rows_ = rows;
    return other;
  }

  [[nodiscard]] GraphBuilder& build() const { return build_; }
  [[nodiscard]] const ModelSpec& spec() const { return build_.spec(); }
  [[nodiscard]] const Recipe& recipe() const { return build_.recipe(); }
  [[nodiscard]] const ParameterLayout& parameters() const { return build_.parameters(); }
  [[nodiscard]] const BatchTensors& batch() const { return batch_; }
  /// Tokens of a sequence.
  [[nodiscard]] std::int64_t sequence() const { return sequence_; }
  /// Tokens that it writes for.
  [[nodiscard]] std::int64_t rows() const { return rows_; }

  /// A [rows, width] tensor that forward makes, of the compute type.
  TensorId activation(std::int64_t width, const char* name);
  /// A [rows, width] tensor that backward makes, of the compute type.
  TensorId gradient(std::int64_t width, const char* name);
  /// A [rows, per_row] tensor that forward makes, of the sums' type: what a kernel notes for its own backward pass.
  TensorId statistics(std::int64_t per_row, const char* name);
  /// A parameter, or an invalid id when the model has none of that role.
  TensorId weight(GroupId group, ParameterRole role);
  TensorId weight_gradient(GroupId group, ParameterRole role);
  /// A matrix as products read it: an encoded one is decoded into memory that is free again after the next op.
  TensorId matrix(GroupId group, ParameterRole role);

  [[nodiscard]] OpShape linear_shape(std::int64_t inputs, std::int64_t outputs) const;

  /// The norm of the stream's width; `saved_statistics` is made here.
  TensorId norm(GroupId group, WeightAndBias of, TensorId x, TensorId& saved_statistics, const char* name);
  /// Adds the norm's input gradient to `dx` (`access` kReadWrite) or starts it (kWrite).
  void norm_backward(GroupId group, WeightAndBias of, TensorId dy, TensorId x, TensorId saved_statistics, TensorId dx,
                     Access access);

  /// y = x Wᵀ + b, and what adapters beside W add.
  TensorId linear(GroupId group, WeightAndBias of, TensorId x, std::int64_t inputs, std::int64_t outputs, const char* name);
  /// dx of a linear layer, and the gradient of its weight and bias, or of its adapters.
  TensorId linear_backward(GroupId group, WeightAndBias of, TensorId dy, TensorId x, std::int64_t inputs, std::int64_t outputs,
                           const char* name);

  /// a + b, both of the stream's width.
  TensorId add(TensorId a, TensorId b, TensorKind kind, const char* name);

  /// Adds the gradients of a group, or of the adapters that stand for it, to their sum over micro-batches; nothing to do with
  /// a single one.
  void accumulate(GroupId group);
  /// The same of a mixture's experts alone where ranks share them, once for the rows of each of these ranks; then accumulate
  /// leaves them out.
  void accumulate_experts(GroupId group);

 private:
  [[nodiscard]] std::vector<ElementRun> shared_experts(GroupId group) const;
  void accumulate_run(GroupId group, std::int64_t first, std::int64_t count);

  GraphBuilder& build_;
  BatchTensors batch_;
  AdapterLayer adapters_;
  std::int64_t sequence_;
  std::int64_t rows_;
};

}  // namespace plimsoll
