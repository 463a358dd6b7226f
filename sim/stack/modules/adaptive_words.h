#pragma once

#include <vector>

#include "sim/stack/modules/dense_layer.h"

namespace plimsoll {

/// Embeddings and the loss over an adaptive vocabulary as NVIDIA's Transformer-XL has them: words in clusters, the matrices of embedding
/// and head the same. How many tokens are of a cluster follows from how often its words occur.
class AdaptiveWords {
 public:
  AdaptiveWords(const DenseMaker& make, const ModelSpec& spec);

  /// [tokens, batch] of words to [tokens, batch, hidden].
  Tensor embed(Tape& tape, std::int64_t tokens, std::int64_t batch) const;
  /// The mean negative log-likelihood of the words behind `rows` [.., hidden].
  Tensor loss(Tape& tape, const Tensor& rows) const;

 private:
  struct Cluster {
    WordCluster words;
    Parameter* table = nullptr;       ///< of its own where widths differ
    Parameter* projection = nullptr;  ///< [hidden, width]
    Parameter* bias = nullptr;        ///< where widths differ
  };

  [[nodiscard]] Tensor weight_of(Tape& tape, std::size_t cluster) const;
  [[nodiscard]] Tensor bias_of(Tape& tape, std::size_t cluster) const;
  [[nodiscard]] Tensor logits(Tape& tape, const Tensor& rows, const Tensor& weight, const Tensor& bias, std::size_t cluster) const;
  [[nodiscard]] Tensor flat_loss(Tape& tape, const Tensor& rows) const;

  std::int64_t hidden_ = 0;
  std::vector<Cluster> clusters_;
  Parameter* table_ = nullptr;  ///< of all words, where widths are the same
  Parameter* bias_ = nullptr;
  Parameter* cluster_weight_ = nullptr;
  Parameter* cluster_bias_ = nullptr;
  Parameter* head_projection_ = nullptr;
};

}  // namespace plimsoll
