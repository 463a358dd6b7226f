#pragma once

#include "core/graph/layer_writer.h"

namespace plimsoll {

/// Final norm and transform where the model has them, logits and loss over the vocabulary, and its weight's
/// gradient, which a tied head shares with the embedding.
///
/// The head and the embedding each have their part in a tied matrix's gradient, at both ends of the backward pass. Over
/// several micro-batches each part is summed alone: a head's part need not wait for its own micro-batch's embedding, and the
/// sum is the same when all heads come before all embeddings.
class LanguageHead {
 public:
  explicit LanguageHead(LayerWriter& write) : write_(write) {}

  /// From the stream to the loss: kCrossEntropy leaves the logits' gradient behind, kLoss does not.
  void forward(OpKind loss, TensorId stream);
  /// The gradient of the stream that `forward` read.
  TensorId backward();
  /// Once a step: what the head's part came to joins what the embedding's came to.
  void join();

  /// How the embedding finds the gradient of a matrix that both use.
  [[nodiscard]] Access embedding_gradient_access() const;

 private:
  [[nodiscard]] bool sums_apart() const;
  [[nodiscard]] bool frozen() const;
  void weight_backward();
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] GroupId weight_group() const;
  [[nodiscard]] ParameterRole weight_role() const;
  [[nodiscard]] bool transforms() const { return write_.spec().head == HeadKind::kMaskedToken; }
  [[nodiscard]] OpShape transform_shape() const;
  TensorId transform(TensorId x);
  TensorId transform_backward(TensorId dy);
  TensorId weight_gradient();
  void accumulate(TensorId gradient);

  LayerWriter& write_;
  TensorId input_, norm_, statistics_, logits_, sum_;
  struct {
    TensorId linear, activated, normed, statistics;
  } transform_;  ///< of `norm_`, for a head that has one
};

}  // namespace plimsoll
