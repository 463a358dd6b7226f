#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/adaptive_vocabulary.h"
#include "core/model/conv_net.h"
#include "core/model/experts.h"
#include "core/model/latent_attention.h"

namespace plimsoll {

/// Whose names a checkpoint's tensors and configuration have; what a model computes is in its spec's other fields.
enum class Family : std::uint8_t { kGpt2, kLlama, kMistral, kQwen2, kQwen3, kGemma, kPhi, kMixtral, kBert, kVit,
  kOpt, kBloom, kGptNeoX, kGptJ, kFalcon, kMpt, kPalm, kStableLm, kPhi3, kQwen, kT5, kConvNet,
  kGemma2, kGemma3, kOlmo, kOlmo2, kOlmoe, kQwen2Moe, kGptOss, kDeepSeek, kGptBigCode, kCohere, kLlama4, kTransfoXl };
constexpr Family kLastFamily = Family::kTransfoXl;
enum class NormKind : std::uint8_t {
  kLayerNorm,
  kRmsNorm,
  kRmsNormPlusOne,  ///< the weight is what the factor exceeds 1 by
};
/// The gated ones halve their input: activation(gate) · up. A squared ReLU is max(x, 0)² (So et al. 2021, Primer; Nemotron 4).
enum class ActivationKind : std::uint8_t { kGelu, kGeluTanh, kSwiGlu, kGeGluTanh, kTanh, kRelu, kSquaredRelu };
enum class PositionKind : std::uint8_t {
  kLearned,   ///< a table of max_positions rows
  kRope,      ///< queries and keys are rotated
  kAlibi,     ///< scores fall with the distance, in each head at its own rate; nothing is learnt (Press et al. 2022)
  kRelative,  ///< a learnt number a head and bucket of distances, which the first block of a stack has for all (T5)
  kDistance,  ///< sines of the distance, through a matrix of each block, meet the queries as keys do (Dai et al. 2019, Transformer-XL)
};
/// What the last layers make of the stream, and so what the loss asks for.
enum class HeadKind : std::uint8_t {
  kNextToken,    ///< at every token the one that follows
  kMaskedToken,  ///< at hidden tokens what stood there; a transform (linear, activation, norm) comes before the output matrix
  kClass,        ///< at the first token one of `classes`, for the whole sequence
};
/// Where the norms of a block's halves (attention, feed-forward) stand; `post_norm` of encoders is another place yet.
enum class NormPlace : std::uint8_t {
  kBefore,           ///< of what a half reads
  kBeforeAndBehind,  ///< and of what it adds to the stream (Gemma 2)
  kBehind,           ///< of what it adds alone (OLMo 2)
};
enum class RopeScalingKind : std::uint8_t { kNone, kLinear, kLlama3 };

constexpr bool is_gated(ActivationKind kind) { return kind == ActivationKind::kSwiGlu || kind == ActivationKind::kGeGluTanh; }

/// How rotary frequencies are stretched for sequences longer than those of the first training.
struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::kNone;
  double factor = 1;           ///< by which low frequencies (all of them, when linear) are divided
  double low_frequency = 1;    ///< Llama 3: waves longer than original_positions / low_frequency are divided,
  double high_frequency = 4;   ///< those shorter than original_positions / high_frequency are kept, others between
  double original_positions = 8192;

  bool operator==(const RopeScaling&) const = default;
};

/// Images that are cut into square patches, each of which becomes a token; the first token belongs to none.
struct ImageInput {
  std::int64_t size = 0;   ///< pixels of an image's height and width; 0: the model reads tokens
  std::int64_t patch = 0;  ///< and of a patch's
  std::int64_t channels = 0;
  std::array<double, 3> mean{0.5, 0.5, 0.5};  ///< by channel: a pixel p of 0 … 255 comes in as (p / 255 − mean) / deviation
  std::array<double, 3> deviation{0.5, 0.5, 0.5};

  bool operator==(const ImageInput&) const = default;

  [[nodiscard]] std::int64_t patches() const { return patch > 0 ? (size / patch) * (size / patch) : 0; }
  /// Numbers of a patch: channels, then rows, then columns.
  [[nodiscard]] std::int64_t patch_width() const { return channels * patch * patch; }
  /// Bytes of an image.
  [[nodiscard]] std::int64_t pixels() const { return channels * size * size; }
};

/// A transformer as its user states it: a decoder, an encoder where attention is not causal, or both where there are
/// decoder_layers. Or a convolutional net.
struct ModelSpec {
  std::string name;  ///< zoo name, folder or the shape in words
  Family family = Family::kGpt2;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< fewer than heads: grouped-query attention
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;  ///< width of the feed-forward layer
  std::int64_t vocabulary = 0;
  std::int64_t max_positions = 0;
  NormKind norm = NormKind::kLayerNorm;
  ActivationKind activation = ActivationKind::kGeluTanh;
  PositionKind positions = PositionKind::kLearned;
  bool tied_head = true;     ///< the output head is the token embedding
  bool qkv_bias = true;
  bool projection_bias = true;  ///< of the attention's output
  bool mlp_bias = true;
  bool head_bias = false;       ///< of the output head
  bool qk_norm = false;         ///< every query and key head is normalized before it is rotated, with the norm of the model
  bool parallel_block = false;  ///< attention and feed-forward read one norm; both are added to the stream
  double norm_epsilon = 1e-5;
  double rope_theta = 10000.0;
  std::int64_t rotary_dim = 0;  ///< leading elements of a head that are rotated; 0: all
  RopeScaling rope_scaling;
  double embedding_scale = 1;  ///< of token embeddings; a tied head has none
  std::int64_t window = 0;     ///< tokens that a token sees, itself among them; 0: all before it
  bool causal = true;           ///< a token sees those before it; otherwise all of its sequence
  bool post_norm = false;       ///< norms follow the sums of the residual stream, and none stands before the head
  bool embedding_norm = false;  ///< of the embeddings' sum
  std::int64_t token_types = 0;  ///< rows of the table that tells a sequence's two segments apart; 0: there is none
  HeadKind head = HeadKind::kNextToken;
  std::int64_t classes = 0;      ///< of HeadKind::kClass
  bool pooler = false;           ///< a linear layer and tanh between the first token and its class
  std::int64_t mask_token = -1;  ///< what hides a token; −1: the last of the vocabulary
  ImageInput image;

  ExpertSpec experts;

  bool norm_bias = true;        ///< of LayerNorms
  bool parallel_norms = false;  ///< the feed-forward layer of a parallel block has a norm of its own
  bool rope_interleaved = false;       ///< rotary pairs are neighbours, not half a head apart
  std::int64_t embedding_width = 0;    ///< of token embeddings narrower than the stream, with a projection in and out; 0: as wide
  std::int64_t position_offset = 0;    ///< rows of the position table before the first token's
  std::int64_t decoder_layers = 0;     ///< blocks with cross attention behind an encoder of `layers` blocks; 0: one stack alone
  std::int64_t relative_buckets = 0;   ///< of PositionKind::kRelative
  ConvNet conv;                        ///< a convolutional net in place of a transformer; what is said above of blocks means nothing then

  NormPlace norm_place = NormPlace::kBefore;
  bool norm_weight = true;       ///< norms have weights
  bool wide_qk_norm = false;     ///< with qk_norm: one norm spans all query heads, one all key heads, each weight its own
  double score_cap = 0;          ///< scores s become cap · tanh(s / cap) before the softmax; 0: they stay
  double logit_cap = 0;          ///< and logits
  std::int64_t full_every = 0;   ///< with a window: blocks n − 1, 2n − 1, … see all tokens before; 0: none does
  double local_rope_theta = 0;   ///< of blocks with the window, whose rotation is not stretched; 0: as of the others
  bool sinks = false;            ///< each head has a learnt score that takes a share of the softmax and adds nothing
  bool other_arithmetic = false; ///< multiplies, clips or rotates in a way of its own that takes no room and no kernel here does
  LatentAttention latent;

  std::int64_t memory = 0;  ///< tokens of the segment before whose streams every block reads again, without gradients (Transformer-XL)
  AdaptiveVocabulary adaptive;

  bool operator==(const ModelSpec&) const = default;

  /// Whether that block has a mixture of experts in place of its feed-forward layer.
  [[nodiscard]] bool has_experts(std::int64_t layer) const {
    const std::int64_t of_stack = layer < layers ? layer : layer - layers;
    return experts.count > 0 && of_stack >= experts.dense_first && (of_stack + 1) % experts.every == 0;
  }
  /// Whether that block's tokens see no farther than the window.
  [[nodiscard]] bool has_window(std::int64_t layer) const {
    return window > 0 && (full_every == 0 || (layer + 1) % full_every != 0);
  }
  /// Base of the rotary frequencies of that block.
  [[nodiscard]] double theta_of(std::int64_t layer) const {
    return local_rope_theta > 0 && has_window(layer) ? local_rope_theta : rope_theta;
  }
  [[nodiscard]] bool norms_before() const { return norm_place != NormPlace::kBehind; }
  [[nodiscard]] bool norms_behind() const { return norm_place != NormPlace::kBefore; }
  [[nodiscard]] bool is_conv_net() const { return conv.kind != ConvNetKind::kNone; }
  [[nodiscard]] bool has_encoder_and_decoder() const { return decoder_layers > 0; }
  /// Blocks of all stacks; those of a decoder behind an encoder follow it.
  [[nodiscard]] std::int64_t blocks() const { return layers + decoder_layers; }
  /// Width of a token embedding.
  [[nodiscard]] std::int64_t token_width() const { return embedding_width == 0 ? hidden : embedding_width; }
  /// Rows of the table of learnt positions.
  [[nodiscard]] std::int64_t position_rows() const { return max_positions + position_offset; }
  /// Width of an expert, and of what its activation reads.
  [[nodiscard]] std::int64_t expert_width() const { return experts.width == 0 ? ffn : experts.width; }
  [[nodiscard]] std::int64_t expert_in_width() const { return is_gated(activation) ? 2 * expert_width() : expert_width(); }
  /// Width of the fused query, key and value projection.
  [[nodiscard]] std::int64_t qkv_width() const { return (heads + 2 * kv_heads) * head_dim; }
  [[nodiscard]] bool reads_images() const { return image.size > 0; }
  /// Whether sequences may be shorter than the batch is wide.
  [[nodiscard]] bool pads() const { return !causal && !reads_images(); }
  /// Width of the output matrix: the vocabulary, or the classes.
  [[nodiscard]] std::int64_t outputs() const { return head == HeadKind::kClass ? classes : vocabulary; }
  /// Width of the concatenated attention heads.
  [[nodiscard]] std::int64_t attention_width() const { return heads * head_dim; }
  /// Width of the first feed-forward projection (gate and up side by side when it is gated).
  [[nodiscard]] std::int64_t ffn_in_width() const { return is_gated(activation) ? 2 * ffn : ffn; }
  /// Elements of a head that are rotated.
  [[nodiscard]] std::int64_t rotary_width() const { return rotary_dim == 0 ? head_dim : rotary_dim; }
  /// Whether some blocks do not see all tokens of sequences that are so long.
  [[nodiscard]] bool slides_over(std::int64_t sequence) const { return window > 0 && full_every != 1 && sequence > window; }
  /// The longest sequence of our own steps: within its window attention is full, beyond it there is no kernel.
  [[nodiscard]] std::int64_t longest_sequence() const { return window > 0 && window < max_positions ? window : max_positions; }
};

/// The defaults of a family, before sizes are filled in.
ModelSpec family_defaults(Family family);

/// The same encoder with a new head that tells `classes` apart.
ModelSpec with_classes(ModelSpec spec, std::int64_t classes);

/// Checks that every size is positive, divides as it must, and that no tensor passes 2^40 elements.
Result<void> validate(const ModelSpec& spec);

std::string_view to_text(Family family);
std::string_view to_text(NormKind norm);
std::string_view to_text(ActivationKind activation);
std::string_view to_text(PositionKind positions);
std::string_view to_text(RopeScalingKind scaling);
std::string_view to_text(HeadKind head);
std::string_view to_text(NormPlace place);

/// One line of key=value pairs that names every field; equal specs, equal text.
std::string canonical_text(const ModelSpec& spec);

}  // namespace plimsoll
