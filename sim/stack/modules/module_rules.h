#pragma once

#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

enum class NormCode : std::uint8_t {
  kFused,       ///< one kernel each way
  kComposite,   ///< RMS norm as transformers write it: to fp32, power, mean, product, back, times the weight
  kInFp32,      ///< as LitGPT writes it: the weight multiplies in fp32, then back
  kCentredInFp32,  ///< a layer norm written out in fp32: mean, difference, power, mean, product, weight, back (transformers' Cohere)
};
enum class ActivationCode : std::uint8_t {
  kFused,      ///< one kernel
  kNewGelu,    ///< power, sums, tanh and products one after another (transformers' gelu_new)
};

/// How a framework's code writes what a ModelSpec says: all that changes tensors and kernels, nothing that changes the model.
struct ModuleRules {
  NormCode norm = NormCode::kFused;
  ActivationCode activation = ActivationCode::kFused;
  AttentionKernel attention = AttentionKernel::kEager;
  bool split_projections = false;  ///< query, key and value (gate and up) from layers of their own
  bool repeats_heads = false;      ///< keys and values of grouped queries are copied to every head
  bool mask_as_sum = false;        ///< a mask is added to the scores; otherwise it overwrites them
  bool softmax_in_fp32 = false;
  bool holds_scores = false;       ///< as in the setup
  bool rejoins_heads = false;      ///< rotated numbers are put beside the others of their heads, though there are none (LitGPT)
  bool names_halves = false;       ///< a gated layer's halves are both named before they meet
  bool holds_logits = false;       ///< the training loop keeps them until the next step's are there
  bool fused_loss = false;         ///< one kernel that writes the gradient over the logits
  bool logits_to_fp32 = false;     ///< before the loss, autocast or not
  bool liger = false;              ///< as in the setup
  bool tiled = false;              ///< feed-forward layers run tile by tile
  bool grouped_experts = false;    ///< experts multiply in one kernel over tokens sorted by expert
  bool stacks_experts = false;     ///< a block's experts are one tensor, which no library of linear layers encodes
  bool scores_first = false;       ///< a token is multiplied by its score, in fp32, before its expert (torchtitan)
  bool unsloth = false;            ///< Unsloth's functions, norms and loss
  bool adds_products = false;      ///< the fused loss's products are added into the head's gradient: compute capability 8.0 and later
  bool norms_in_place = false;     ///< norms in one kernel write their input's gradient over the result's
  bool compiled_loss = false;      ///< torch.compile writes it
  bool returns_logits = false;     ///< a compiled model gives them beside the loss
  bool prepared = false;           ///< what is not encoded is in fp32 (prepares_kbit), beside a base of 4 or 8 bits
  bool narrow_adapters = false;    ///< adapters are of the type that the model is kept in; PEFT makes them fp32 (autocast_adapter_dtype) since 0.12
  bool fused_pointwise = false;    ///< a compiler fuses what lies between products and recomputes it in backward
  double dropout = 0;
  double embedding_dropout = 0;
  bool masks_window = false;  ///< blocks with a window hand fused attention a mask, as transformers does unless FlashAttention 2 is asked for
  double attention_dropout = 0;  ///< of the shares that attention gives
};

/// Whether the model's modules know no fused attention: transformers' BLOOM and MPT (modeling_bloom.py, modeling_mpt.py).
bool writes_attention(const ModelSpec& spec, const StackSetup& setup);

/// The rules of a style for a model, with the attention kernel that this GPU and type allow when none is asked for:
/// flash needs compute capability 8.0 and a two-byte type, memory-efficient attention 5.0.
ModuleRules module_rules(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu);

}  // namespace plimsoll
