#pragma once

#include <vector>

#include "core/graph/layer_writer.h"
#include "core/graph/logit_columns.h"
#include "core/graph/loss_layer.h"

namespace plimsoll {

/// Final norm and transform where the model has them, logits and loss over the vocabulary, and its weight's
/// gradient, which a tied head shares with the embedding.
///
/// The head and the embedding each have their part in a tied matrix's gradient, at both ends of the backward pass. Over
/// several micro-batches each part is summed alone: a head's part need not wait for its own micro-batch's embedding, and the
/// sum is the same when all heads come before all embeddings.
///
/// Many tokens of a large vocabulary have more logits than anything else of a step. They come in parts (loss_parts): forward
/// ends at the last norm, and backward computes a part's logits, its loss and what follows of them before it turns to the
/// next. Every plan sums the parts in this order, so all plans have the same numbers.
class LanguageHead {
 public:
  explicit LanguageHead(LayerWriter& write) : write_(write) {}

  /// From the stream to the loss: kCrossEntropy leaves the logits' gradient behind, kLoss does not.
  void forward(OpKind loss, TensorId stream);
  /// From the stream to the logits of all rows.
  void forward_to_logits(TensorId stream);
  /// The gradient of the stream that `forward` read.
  TensorId backward();
  /// Once a step: what the head's part came to joins what the embedding's came to.
  void join();

  /// How the embedding finds the gradient of a matrix that both use.
  [[nodiscard]] Access embedding_gradient_access() const;

 private:
  [[nodiscard]] bool sums_apart() const;
  [[nodiscard]] bool frozen() const;
  [[nodiscard]] bool in_parts() const { return parts_.size() > 1; }
  void features_of(TensorId stream);
  [[nodiscard]] TensorId rows_of(TensorId tensor, const LossPart& part);
  TensorId logits_of(const LossPart& part);
  TensorId logits_and_loss(OpKind loss, const LossPart& part);
  void backward_of(const LossPart& part, TensorId d_logits, TensorId d_features);
  void weight_backward(const LossPart& part, TensorId d_logits);
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::int64_t columns() const { return logit_columns(write_.spec()); }
  /// As many rows of the weight, its gradient or its sum as logits have columns.
  [[nodiscard]] TensorId in_columns(TensorKind kind);
  /// Of the output matrix's products. Where T5 ties it, their factor is 1 / √width (Raffel et al. 2020's code).
  [[nodiscard]] OpShape product_shape(const LayerWriter& rows) const;
  [[nodiscard]] GroupId weight_group() const;
  [[nodiscard]] ParameterRole weight_role() const;
  [[nodiscard]] bool transforms() const { return write_.spec().head == HeadKind::kMaskedToken; }
  [[nodiscard]] OpShape transform_shape() const;
  TensorId transform(TensorId x);
  TensorId transform_backward(TensorId dy);
  TensorId weight_gradient();
  void accumulate(TensorId gradient);

  LayerWriter& write_;
  std::vector<LossPart> parts_;
  bool forward_is_over_ = false;  ///< what is made now lives in backward alone
  TensorId input_, norm_, statistics_, features_, logits_, loss_, d_weight_, d_bias_, sum_;
  struct {
    TensorId linear, activated, normed, statistics;
  } transform_;  ///< of `norm_`, for a head that has one
};

}  // namespace plimsoll
