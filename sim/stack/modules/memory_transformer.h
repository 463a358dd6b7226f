#pragma once

#include <vector>

#include "sim/stack/modules/adaptive_words.h"
#include "sim/stack/modules/distance_attention.h"
#include "sim/stack/modules/stack_model.h"

namespace plimsoll {

/// Transformer-XL (Dai et al. 2019) as NVIDIA's DeepLearningExamples writes it: every block reads the stream that it had in the segment
/// before beside that of its own, all streams of a segment are kept until the next, and the first micro-batch of a training has
/// none.
class MemoryTransformer : public StackModel {
 public:
  MemoryTransformer(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const ModuleRules& rules, DType weights);

  Loss loss(std::optional<DType> autocast) override;

 private:
  struct Block {
    DistanceAttention attention;
    FeedForwardWeights feed;
    Weights norm;
  };

  Block make_block(const DenseMaker& make, const std::string& name) const;
  Tensor block(const Tensor& x, const Tensor& memory, const Block& weights, const DistanceContext& shared, const BlockContext& context);
  /// The stream behind the last block; `kept` becomes what the next segment reads of this one.
  Tensor streams(const Tensor& memory, Tensor& kept);
  /// All blocks' inputs beside one another, and before them what is still to be kept of the segments before.
  Tensor remember(const Tensors& inputs, const Tensor& memory);

  Tape& tape_;
  const ModelSpec& spec_;
  const Recipe& recipe_;
  const ModuleRules& rules_;
  AdaptiveWords words_;
  std::vector<Block> blocks_;
  Parameter* content_bias_ = nullptr;
  Parameter* distance_bias_ = nullptr;
  std::vector<Tensor> memories_;  ///< [blocks, tokens, batch, hidden], one of each micro-batch of a step
  std::size_t micro_batch_ = 0;
};

}  // namespace plimsoll
