#pragma once

#include "core/graph/layer_writer.h"

namespace plimsoll {

/// From each sequence's first token to its class: final norm and pooler where the model has them, logits and loss.
class ClassHead {
 public:
  explicit ClassHead(LayerWriter& write) : write_(write), firsts_(write.of_rows(write.recipe().micro_batch)) {}

  void forward(OpKind loss, TensorId stream);
  /// The gradient of the stream that `forward` read.
  TensorId backward();

 private:
  [[nodiscard]] OpShape first_token_shape() const;
  [[nodiscard]] OpShape tanh_shape() const;
  TensorId pool(TensorId x);
  TensorId pool_backward(TensorId dy);

  LayerWriter& write_;   ///< of all tokens
  LayerWriter firsts_;   ///< of the first ones
  TensorId first_, norm_, statistics_, pooled_, tanh_, logits_;
};

}  // namespace plimsoll
