#pragma once

#include <string_view>
#include <vector>

#include "core/model/recipe.h"
#include "sim/stack/megatron/attention_heads.h"
#include "sim/stack/megatron/megatron_layers.h"
#include "sim/stack/megatron/rank_experts.h"
#include "sim/stack/megatron/rank_latent.h"
#include "sim/stack/megatron/shared_expert.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// What one rank of a pipeline stage holds of a model, and its forward pass chunk by chunk.
class MegatronStage {
 public:
  MegatronStage(Tape& tape, const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, std::int64_t stage, const MegatronCut& cut);

  [[nodiscard]] bool is_first(std::int64_t chunk) const { return stage_ == 0 && chunk == 0; }
  [[nodiscard]] bool is_last(std::int64_t chunk) const { return stage_ + 1 == setup_.stages && chunk + 1 == setup_.chunks; }
  /// What comes from the stage before, as a leaf that wants a gradient.
  [[nodiscard]] Tensor received();
  /// The loss of the last chunk, the stream of any other.
  Tensor forward(const Tensor& input, std::int64_t chunk);
  /// Ends of the model that stand on this stage.
  [[nodiscard]] const MegatronCut& cut() const { return cut_; }

 private:
  struct Layer {
    Weights norm1, qkv, projection, norm2, feed_in, feed_out;
    HeadNorms head_norms;
    RankLatent latent;    ///< in place of qkv
    RankExperts experts;  ///< in place of the last two
    SharedExpert shared;
  };

  void make_layer(std::int64_t index);
  [[nodiscard]] std::int64_t layer_of_model(std::int64_t index) const;
  void make_embeddings();
  void make_head();
  Tensor embed();
  void make_attention(Layer& layer, const std::string& name, const Fp8Setup& fp8);
  RankHeads heads(const Tensor& normed, const Tensor& qkv, const Layer& weights);
  Tensor mixture(const Tensor& rows, const Layer& weights);
  Tensor layer(const Tensor& x, const Layer& weights);
  Tensor layers(Tensor x, std::int64_t begin, std::int64_t end);
  Tensor head(const Tensor& x);
  /// Width of what attention hands to the projection.
  [[nodiscard]] std::int64_t attended_width() const { return spec_.latent.exists() ? spec_.heads * spec_.latent.value_dim : spec_.attention_width(); }
  [[nodiscard]] std::int64_t part(std::int64_t whole) const { return whole / cut_.tensor_ranks; }

  Tape& tape_;
  const ModelSpec& spec_;
  const StackSetup& setup_;
  std::int64_t stage_;
  MegatronCut cut_;
  ExpertCut expert_cut_;
  std::int64_t vocabulary_;  ///< padded, this rank's part
  std::int64_t layers_a_chunk_;
  std::vector<Layer> layers_;
  Tensor angles_;  ///< of rotary positions, in fp32: made once, and there from then on
  Parameter* tokens_ = nullptr;
  Parameter* positions_ = nullptr;
  Parameter* types_ = nullptr;
  Weights final_norm_;
  Weights transform_;
  Weights transform_norm_;
  Weights pooler_;
  Parameter* output_ = nullptr;
  Parameter* output_bias_ = nullptr;
};

/// Layers of one chunk of a stage. Where they do not divide, embedding and head count as a layer each, and the first and last
/// stage have one less; 0 when that does not divide either.
std::int64_t layers_of_chunk(const ModelSpec& spec, const StackSetup& setup, std::int64_t stage);

/// How the setup cuts a model on a GPU of that compute capability: cuDNN's attention, taken on 9.0, writes its result in order;
/// FlashAttention's lies batch first.
MegatronCut megatron_cut(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, std::string_view capability);

}  // namespace plimsoll
