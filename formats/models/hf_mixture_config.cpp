#include "formats/models/hf_mixture_config.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

using nlohmann::json;

/// 0 where the key is null or 0: a rank or a number of experts that is not there.
std::int64_t size_or_none(ConfigFields& fields, std::string_view key, std::int64_t usual) {
  const json* value = fields.find(key);
  if (value == nullptr) return fields.states(key) ? 0 : usual;
  return *value == 0 ? 0 : fields.size({key});
}

void read_balance(ConfigFields& fields, ExpertSpec& experts, double usual) {
  const double coefficient = fields.positive({"router_aux_loss_coef"}, usual);
  if (fields.flag("output_router_logits", false)) experts.balance = coefficient;
}

void read_olmoe(ConfigFields& fields, ModelSpec& spec) {
  spec.experts.count = fields.size({"num_experts", "num_local_experts"}, 64);
  spec.experts.per_token = fields.size({"num_experts_per_tok"}, 8);
  spec.experts.plain_gates = !fields.flag("norm_topk_prob", false);
  read_balance(fields, spec.experts, 0.01);
}

void read_qwen2_moe(ConfigFields& fields, ModelSpec& spec) {
  ExpertSpec& experts = spec.experts;
  experts.count = fields.size({"num_experts", "num_local_experts"}, 60);
  experts.per_token = fields.size({"num_experts_per_tok"}, 4);
  experts.every = fields.size({"decoder_sparse_step"}, 1);
  experts.width = fields.size({"moe_intermediate_size"}, 1408);
  experts.shared_width = fields.size({"shared_expert_intermediate_size"}, 5632);
  experts.plain_gates = !fields.flag("norm_topk_prob", false);
  spec.qkv_bias = fields.flag("qkv_bias", true);
  read_balance(fields, experts, 0.001);
  const json* dense = fields.find("mlp_only_layers");
  if (dense != nullptr && !(dense->is_array() && dense->empty())) {
    fields.fault("'mlp_only_layers' names layers without experts, which is not supported", "decoder_sparse_step is");
  }
  if (!fields.flag("use_sliding_window", false)) return fields.pass_over({"sliding_window", "layer_types"});
  fields.fault("'use_sliding_window' of a Qwen 2 mixture is not supported", "without it all tokens are seen");
}

void read_gpt_oss(ConfigFields& fields, ModelSpec& spec) {
  spec.experts.count = fields.size({"num_local_experts", "num_experts"}, 128);
  spec.experts.per_token = fields.size({"num_experts_per_tok", "experts_per_token"}, 4);
  read_balance(fields, spec.experts, 0.001);
  spec.other_arithmetic = true;  // bounded gates, softmax beside the sinks
  spec.window = size_or_none(fields, "sliding_window", 128);
  spec.full_every = spec.window > 0 ? 2 : 0;
  fields.pass_over({"swiglu_limit", "swiglu_alpha"});
  const json* layers = fields.find("layer_types");
  if (layers == nullptr) return;
  if (!layers->is_array() || static_cast<std::int64_t>(layers->size()) != spec.layers) {
    return fields.fault(fmt::format("'layer_types' is no list of {} layers", spec.layers));
  }
  for (std::size_t i = 0; i < layers->size(); ++i) {
    const bool sliding = spec.has_window(static_cast<std::int64_t>(i));
    if ((*layers)[i] == (sliding ? "sliding_attention" : "full_attention")) continue;
    return fields.fault("'layer_types' is no alternation of sliding and full attention");
  }
}

void read_latent(ConfigFields& fields, ModelSpec& spec) {
  spec.latent = {.q_rank = size_or_none(fields, "q_lora_rank", 1536),
                 .kv_rank = fields.size({"kv_lora_rank"}, 512),
                 .plain_dim = fields.size({"qk_nope_head_dim"}, 128),
                 .rope_dim = fields.size({"qk_rope_head_dim"}, 64),
                 .value_dim = fields.size({"v_head_dim"}, 128)};
  spec.kv_heads = spec.heads;
  spec.head_dim = spec.latent.key_dim();
  if (spec.qkv_bias) fields.fault("'attention_bias' of latent attention is not supported");
  fields.pass_over({"qk_head_dim", "num_key_value_heads"});
}

/// What DeepSeek's keys of experts are where a file leaves them out.
struct UsualRouting {
  std::int64_t count, per_token, width, shared, dense_first;
  bool normalized;
};

constexpr UsualRouting kDeepSeek2{64, 6, 1407, 2, 0, false}, kDeepSeek3{256, 8, 2048, 1, 3, true}, kGlm{128, 8, 1408, 1, 1, true};

/// Experts by the keys that DeepSeek's and GLM's files share.
void read_routed(ConfigFields& fields, ExpertSpec& experts, const UsualRouting& usual) {
  experts.count = size_or_none(fields, "n_routed_experts", usual.count);
  experts.per_token = fields.size({"num_experts_per_tok"}, usual.per_token);
  experts.width = fields.size({"moe_intermediate_size"}, usual.width);
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // beyond what is valid, and its square is still a number
  const std::int64_t shared = size_or_none(fields, "n_shared_experts", usual.shared);
  experts.shared_width = std::min(shared, kMost) * std::min(experts.width, kMost);
  experts.dense_first = size_or_none(fields, "first_k_dense_replace", usual.dense_first);
  experts.plain_gates = !fields.flag("norm_topk_prob", usual.normalized);
  fields.pass_over({"n_group", "topk_group", "topk_method", "routed_scaling_factor", "num_nextn_predict_layers"});
}

void read_scores(ConfigFields& fields, ExpertSpec& experts, std::string_view usual) {
  const std::string scores = fields.word({"scoring_func"}, usual);
  if (scores != "softmax" && scores != "sigmoid")
    fields.fault(fmt::format("'scoring_func' '{}' is not supported", scores));
  experts.sigmoid_scores = scores == "sigmoid";
}

/// DeepSeek 2 and 3, and Kimi K2, which is of the third's kind.
void read_deepseek(ConfigFields& fields, std::string_view type, ModelSpec& spec) {
  const bool third = type != "deepseek_v2";
  read_latent(fields, spec);
  read_routed(fields, spec.experts, third ? kDeepSeek3 : kDeepSeek2);
  if (fields.size({"moe_layer_freq"}, 1) != 1) fields.fault("'moe_layer_freq' other than 1 is not supported");
  read_scores(fields, spec.experts, third ? "sigmoid" : "softmax");
  if (!third && fields.flag("mlp_bias", false)) fields.fault("'mlp_bias' of a DeepSeek 2 is not supported");
  spec.rope_interleaved = true;
  spec.other_arithmetic = true;  // factors of routed experts, groups of experts
  fields.pass_over({"aux_loss_alpha", "seq_aux", "ep_size", "num_mtp_layers", "mlp_bias", "output_router_logits", "rope_interleave"});
}

/// GLM 4.5: experts as DeepSeek 3's behind grouped queries.
void read_glm4_moe(ConfigFields& fields, ModelSpec& spec) {
  read_routed(fields, spec.experts, kGlm);
  read_scores(fields, spec.experts, "sigmoid");
  spec.experts.shared_gate = false;
  spec.qkv_bias = fields.flag("attention_bias", false);
  spec.qk_norm = fields.flag("use_qk_norm", false);
  spec.other_arithmetic = true;  // factors of routed experts
  fields.pass_over({"moe_router_dtype"});
}

/// Dense blocks have a width of their own; the expert of all tokens is as wide as the others.
void read_llama4(ConfigFields& fields, ModelSpec& spec) {
  ExpertSpec& experts = spec.experts;
  experts.width = experts.shared_width = spec.ffn;
  spec.ffn = fields.size({"intermediate_size_mlp"}, 16384);
  experts.count = fields.size({"num_local_experts"}, 16);
  experts.per_token = fields.size({"num_experts_per_tok"}, 1);
  experts.every = fields.size({"interleave_moe_layer_step"}, 1);
  read_balance(fields, experts, 0.001);
  spec.qk_norm = fields.flag("use_qk_norm", true);
  const json* listed = fields.find("moe_layers");
  if (listed != nullptr && !listed->is_array()) fields.fault("'moe_layers' is no list");
  if (listed != nullptr && listed->is_array()) {
    for (std::int64_t i = 0; i < spec.layers; ++i) {
      const bool named = std::find(listed->begin(), listed->end(), json(i)) != listed->end();
      if (named != spec.has_experts(i))
        return fields.fault("'moe_layers' is not every n-th layer of 'interleave_moe_layer_step'");
    }
  }
  fields.pass_over({"no_rope_layers", "no_rope_layer_interval", "attention_chunk_size", "layer_types",
                    "attn_temperature_tuning", "floor_scale", "attn_scale", "for_llm_compressor",
                    "router_jitter_noise"});
}

}  // namespace

bool is_mixture(Family family) {
  return family == Family::kOlmoe || family == Family::kQwen2Moe || family == Family::kGptOss ||
         family == Family::kDeepSeek || family == Family::kLlama4;
}

void read_mixture_config(ConfigFields& fields, std::string_view type, ModelDescription& found) {
  ModelSpec& spec = found.spec;
  switch (spec.family) {
    case Family::kOlmoe:
      return read_olmoe(fields, spec);
    case Family::kQwen2Moe:
      return type == "glm4_moe" ? read_glm4_moe(fields, spec) : read_qwen2_moe(fields, spec);
    case Family::kGptOss:
      return read_gpt_oss(fields, spec);
    case Family::kLlama4:
      return read_llama4(fields, spec);
    default:
      return read_deepseek(fields, type, spec);
  }
}

}  // namespace plimsoll
