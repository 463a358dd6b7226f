#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "sim/stack/modules/stack_model.h"
#include "sim/stack/modules/transformer_layers.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// A decoder or encoder as a framework holds it: its parameters on a tape, and the forward pass of one micro-batch.
class Transformer : public StackModel {
 public:
  /// `weights`: the type of the parameters; a frozen copy's names, and its places on the tape, begin with `prefix`.
  Transformer(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const ModuleRules& rules, DType weights,
              std::string prefix = {});

  Loss loss(std::optional<DType> autocast) override;
  void score(std::optional<DType> autocast, bool without_adapters) override;

 private:
  struct Embeddings {
    Parameter* frozen = nullptr;  ///< the table that the model came with
    Parameter* tokens = nullptr;  ///< the one that is read: the same, or a trained copy
    Parameter* positions = nullptr;
    Parameter* types = nullptr;
    DenseLayer patches;   ///< of images
    DenseLayer widening;  ///< of tokens narrower than the stream
    Weights norm;
  };
  struct Head {
    Weights final_norm;
    DenseLayer transform;
    DenseLayer narrowing;
    Weights transform_norm;
    DenseLayer pooler;
    DenseLayer output;
  };

  void make_embeddings(const DenseMaker& make);
  void make_head(const DenseMaker& make);
  void make_rotary_tables(DType type);
  Tensor embed();
  Tensor embed_words();
  Tensor loss_of(const Tensor& logits);
  Tensor asking(Tensor x);
  Tensor behind_prompt(const Tensor& x);
  SharedMatrices make_shared_matrices(const DenseMaker& make);
  Tensor stack_of_blocks(Tensor x, const BlockContext& context);
  Tensor head(const Tensor& x, const BlockContext& context);
  void run_forward(Loss& result);
  void at(const std::string& place) { tape_.at(prefix_ + place); }
  /// Of a sequence, the prompt before it among them.
  [[nodiscard]] std::int64_t tokens() const { return recipe_.sequence + setup_.adapter.virtual_tokens; }
  Tensor indices(Shape shape) { return tape_.empty(std::move(shape), kIndexType); }
  Tensor chunked_loss(const Tensor& x, const BlockContext& context);
  Tensor fused_loss(const Tensor& x, const BlockContext& context);
  Tensor tiled_loss(const Tensor& x, const BlockContext& context);
  Tensor rotation(DType compute);
  Tensor mask(std::int64_t sequence);
  Tensor local_mask(std::int64_t sequence);
  Tensor run_block(std::size_t index, const Tensor& x, const BlockContext& context);

  Tape& tape_;
  ModelSpec spec_;
  const Recipe& recipe_;
  const StackSetup& setup_;
  const ModuleRules& rules_;
  Embeddings embeddings_;
  std::int64_t tensor_ranks_;  ///< that share layers
  std::string prefix_;
  std::vector<BlockWeights> blocks_;
  std::vector<BlockWeights> bare_blocks_;  ///< the same without their adapters, where a pass wants them so
  bool bare_ = false;                      ///< whether it is such a pass
  Head head_;
  Parameter* prompt_ = nullptr;
  Tensors rotary_tables_;
  Tensor scratch_;  ///< in which Unsloth decodes
  Tensor held_;     ///< a block's result, which Unsloth's checkpoint holds while its backward pass runs
};

}  // namespace plimsoll
