#pragma once

#include <vector>

#include "sim/stack/modules/stack_model.h"
#include "sim/stack/modules/transformer_layers.h"

namespace plimsoll {

/// T5 (Raffel et al. 2020) as transformers writes it: RMS norms before every layer, scores without a scale to which a
/// learnt number a head and distance is added, cross attention in the decoder, no biases; and with experts (Switch).
/// The encoder reads the recipe's tokens, the decoder its target's.
class EncoderDecoder : public StackModel {
 public:
  EncoderDecoder(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const ModuleRules& rules, DType weights);

  Loss loss(std::optional<DType> autocast) override;

 private:
  struct Attention {
    Weights norm;
    DenseLayer q, k, v, out;
  };
  struct Block {
    Attention self;
    Attention cross;  ///< of a decoder
    Weights norm;
    FeedForwardWeights feed;
    MixtureWeights
        mixture;  ///< in the feed-forward layer's place (Fedus et al. 2021, Switch); no experts where there is none
  };
  struct Stack {
    Parameter* distances = nullptr;  ///< [buckets, heads]
    std::vector<Block> blocks;
    Weights norm;
  };

  Attention make_attention(const DenseMaker& make, const std::string& name) const;
  FeedForwardWeights make_feed_forward(const DenseMaker& make, const std::string& name) const;
  Stack make_stack(const DenseMaker& make, const std::string& name, std::int64_t blocks, bool crosses) const;
  /// The numbers that a stack adds to its scores: [1, heads, s, s].
  Tensor distance_bias(const Stack& stack, std::int64_t s);
  Tensor attend(const Tensor& x, const Tensor& memory, const Attention& weights, const Tensor& bias, const BlockContext& context);
  Tensor inner_layers(const Tensor& rows, const FeedForwardWeights& weights);
  Tensor feed_forward(const Tensor& x, const Block& block, const BlockContext& context);
  Tensor block(const Tensor& x, const Tensor& memory, const Block& weights, const Tensor& bias, const BlockContext& context);
  Tensor checkpointed_block(const Tensor& x, const Tensor& memory, const Block& weights, const Tensor& bias, const BlockContext& context);
  Tensor run(const Stack& stack, const Tensor& memory, const BlockContext& context);

  Tape& tape_;
  const ModelSpec& spec_;
  const Recipe& recipe_;
  const StackSetup& setup_;
  const ModuleRules& rules_;
  Parameter* tokens_ = nullptr;
  Stack encoder_;
  Stack decoder_;
  DenseLayer output_;
};

}  // namespace plimsoll
