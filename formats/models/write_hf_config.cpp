#include <nlohmann/json.hpp>

#include "formats/models/hf_checkpoint.h"
#include "formats/models/hf_config.h"
#include "formats/text/parse_json.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

using nlohmann::ordered_json;

constexpr Bytes kMaxConfig = 4 * kMiB;

tl::unexpected<Error> bad(const ModelSpec& spec, std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = spec.name, .remedy = {}});
}

Result<ordered_json> gpt2_config(const ModelSpec& spec) {
  if (spec.norm != NormKind::kLayerNorm || spec.positions != PositionKind::kLearned ||
      spec.activation == ActivationKind::kSwiGlu || !spec.attention_bias || !spec.mlp_bias) {
    return bad(spec, "GPT-2 has LayerNorm, learned positions, GELU and biases; this model has not");
  }
  if (spec.kv_heads != spec.heads || spec.attention_width() != spec.hidden) {
    return bad(spec, "GPT-2 has no grouped queries and its heads fill the hidden size; this model is otherwise");
  }
  return ordered_json{{"architectures", {"GPT2LMHeadModel"}},
                      {"model_type", "gpt2"},
                      {"vocab_size", spec.vocabulary},
                      {"n_positions", spec.max_positions},
                      {"n_embd", spec.hidden},
                      {"n_layer", spec.layers},
                      {"n_head", spec.heads},
                      {"n_inner", spec.ffn},
                      {"activation_function", spec.activation == ActivationKind::kGelu ? "gelu" : "gelu_new"},
                      {"layer_norm_epsilon", spec.norm_epsilon},
                      {"tie_word_embeddings", spec.tied_head},
                      {"attn_pdrop", 0.0},
                      {"embd_pdrop", 0.0},
                      {"resid_pdrop", 0.0}};
}

Result<ordered_json> llama_config(const ModelSpec& spec) {
  if (spec.norm != NormKind::kRmsNorm || spec.positions != PositionKind::kRope ||
      spec.activation != ActivationKind::kSwiGlu) {
    return bad(spec, "Llama has RMSNorm, rotary positions and SwiGLU; this model has not");
  }
  return ordered_json{{"architectures", {"LlamaForCausalLM"}},
                      {"model_type", "llama"},
                      {"vocab_size", spec.vocabulary},
                      {"hidden_size", spec.hidden},
                      {"intermediate_size", spec.ffn},
                      {"num_hidden_layers", spec.layers},
                      {"num_attention_heads", spec.heads},
                      {"num_key_value_heads", spec.kv_heads},
                      {"head_dim", spec.head_dim},
                      {"hidden_act", "silu"},
                      {"max_position_embeddings", spec.max_positions},
                      {"rms_norm_eps", spec.norm_epsilon},
                      {"rope_theta", spec.rope_theta},
                      {"tie_word_embeddings", spec.tied_head},
                      {"attention_bias", spec.attention_bias},
                      {"mlp_bias", spec.mlp_bias}};
}

/// Which ids begin, end and pad a text; without them generation does not stop. A config that cannot be read has none.
void add_token_ids(ordered_json& config, const std::filesystem::path& origin) {
  const auto text = read_text_file(origin / kConfigName, kMaxConfig);
  if (origin.empty() || !text) return;
  const auto parsed = parse_json(*text, origin.string());
  if (!parsed || !parsed->is_object()) return;
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id"}) {
    if (parsed->contains(key)) config[key] = (*parsed)[key];
  }
}

}  // namespace

Result<std::string> write_hf_config(const ModelSpec& spec, const ConfigExtras& extras) {
  auto config = spec.family == Family::kGpt2 ? gpt2_config(spec) : llama_config(spec);
  if (!config) return fail(config.error());
  (*config)["torch_dtype"] = extras.type == StoredType::kBf16 ? "bfloat16" : "float32";
  add_token_ids(*config, extras.origin);
  return config->dump(2) + "\n";
}

}  // namespace plimsoll
