#include "formats/models/hf_unsupported.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "formats/models/hf_newer_config.h"

namespace plimsoll {
namespace {

using nlohmann::json;

/// Features that another architecture would need; each is off when absent, null, false, empty, 0 or its neutral value.
struct Feature {
  std::string_view key;
  std::string_view what;
  double neutral = 0;
};

constexpr Feature kUnsupported[] = {
    {"quantization_config", "quantized weights"},
    {"num_experts", "a mixture of experts"},
    {"num_local_experts", "a mixture of experts"},
    {"n_routed_experts", "a mixture of experts"},
    {"text_config", "a model of several modalities"},
    {"vision_config", "a model of several modalities"},
    {"is_encoder_decoder", "an encoder and a decoder"},
    {"add_cross_attention", "cross attention"},
    {"kv_lora_rank", "latent attention"},
    {"q_lora_rank", "latent attention"},
    {"use_qk_norm", "normalised queries and keys"},
    {"qk_layernorm", "queries and keys with LayerNorms"},
    {"rope_interleaved", "interleaved rotary pairs"},
    {"use_bidirectional_attention", "attention in both directions"},
    {"attn_logit_softcapping", "capped attention scores"},
    {"final_logit_softcapping", "capped logits"},
    {"scale_attn_by_inverse_layer_idx", "attention scores scaled by layer"},
};

}  // namespace

bool is_off(const json& value, double neutral) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<double>() == 0 || value.get<double>() == neutral;
  return value.is_null() || ((value.is_object() || value.is_array()) && value.empty());
}

namespace {

/// Features that the readers of newer families know, or refuse by themselves.
bool is_known_to_newer(std::string_view key) {
  static constexpr std::string_view kKnown[] = {"quantization_config", "num_experts", "num_local_experts", "n_routed_experts",
                                                "kv_lora_rank", "q_lora_rank", "use_qk_norm", "attn_logit_softcapping",
                                                "final_logit_softcapping"};
  return std::ranges::find(kKnown, key) != std::end(kKnown);
}

}  // namespace

void refuse_unsupported(ConfigFields& fields, Family family, std::string_view type) {
  for (const auto& [key, what, neutral] : kUnsupported) {
    if (has_newer_keys(family) && is_known_to_newer(key)) continue;
    if (family == Family::kMixtral && key == "num_local_experts") continue;
    if (type == "qwen3_moe" && (key == "num_experts" || key == "num_local_experts")) continue;
    if (family == Family::kT5 && (key == "is_encoder_decoder" || key == "num_experts")) continue;
    const json* value = fields.find(key);
    if (value == nullptr || is_off(*value, neutral)) continue;
    fields.fault(fmt::format("'{}' asks for {}, which is not supported", key, what));
  }
}

}  // namespace plimsoll
