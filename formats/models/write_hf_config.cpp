#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "formats/models/hf_checkpoint.h"
#include "formats/models/hf_config.h"
#include "formats/models/hf_encoder_config.h"
#include "formats/models/hf_experts.h"
#include "formats/models/hf_newer_config.h"
#include "formats/models/hf_rope.h"
#include "formats/models/hf_t5_config.h"
#include "formats/text/parse_json.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

using nlohmann::ordered_json;

constexpr Bytes kMaxConfig = 4 * kMiB;

tl::unexpected<Error> bad(const ModelSpec& spec, std::string what) {
  return fail({.kind = ErrorKind::kInput,
               .what = std::move(what),
               .where = spec.name,
               .remedy = "save a single .safetensors file"});
}

Result<ordered_json> gpt2_config(const ModelSpec& spec) {
  if (spec.norm != NormKind::kLayerNorm || spec.positions != PositionKind::kLearned ||
      (spec.activation != ActivationKind::kGelu && spec.activation != ActivationKind::kGeluTanh) || spec.parallel_block || spec.head_bias || spec.window != 0 || spec.embedding_scale != 1 || !spec.qkv_bias || !spec.projection_bias || !spec.mlp_bias) {
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

std::string_view architecture_of(Family family) {
  switch (family) {
    case Family::kGpt2: return "GPT2LMHeadModel";
    case Family::kLlama: return "LlamaForCausalLM";
    case Family::kMistral: return "MistralForCausalLM";
    case Family::kQwen2: return "Qwen2ForCausalLM";
    case Family::kQwen3: return "Qwen3ForCausalLM";
    case Family::kGemma: return "GemmaForCausalLM";
    case Family::kPhi: return "PhiForCausalLM";
    case Family::kMixtral: return "MixtralForCausalLM";
    case Family::kStableLm: return "StableLmForCausalLM";
    case Family::kPhi3: return "Phi3ForCausalLM";
    case Family::kBert:
    case Family::kVit: break;  // whose architecture depends on the head
    default: break;            // which has_hf_names refuses
  }
  return "?";
}

/// What the family's code in transformers has no setting for must be as it is there.
Result<void> check_family(const ModelSpec& spec) {
  ModelSpec usual = family_defaults(spec.family);
  const bool biases = spec.family == Family::kLlama || spec.family == Family::kQwen3 || spec.family == Family::kGemma;
  if (biases) usual.qkv_bias = usual.projection_bias = spec.qkv_bias;
  if (spec.family == Family::kLlama) usual.mlp_bias = spec.mlp_bias;
  if (spec.family == Family::kStableLm) usual.qkv_bias = spec.qkv_bias, usual.parallel_block = spec.parallel_block;
  if (spec.family == Family::kPhi && spec.activation == ActivationKind::kGelu) usual.activation = spec.activation;
  const auto features = [](const ModelSpec& s) {
    return std::tuple(s.norm, s.activation, s.positions, s.qkv_bias, s.projection_bias, s.mlp_bias, s.qk_norm, s.parallel_block);
  };
  const bool scaled = spec.family == Family::kGemma;
  const double scale = scaled ? std::sqrt(static_cast<double>(spec.hidden)) : 1;
  const bool windows = spec.family == Family::kMistral || spec.family == Family::kMixtral || spec.family == Family::kPhi3 ||
                       spec.family == Family::kQwen2 || spec.family == Family::kQwen3;
  const bool partial = spec.family == Family::kPhi || spec.family == Family::kStableLm || spec.family == Family::kPhi3;
  const bool same = features(spec) == features(usual) && spec.embedding_scale == scale && (windows || spec.window == 0) &&
                    (partial || spec.rotary_width() == spec.head_dim) && spec.head_bias == usual.head_bias;
  if (same) return {};
  return bad(spec, fmt::format("transformers has no {} with these norms, activations, biases or positions", architecture_of(spec.family)));
}

ordered_json relative_of_llama(const ModelSpec& spec) {
  ordered_json config{{"architectures", {architecture_of(spec.family)}},
                      {"model_type", to_text(spec.family)},
                      {"vocab_size", spec.vocabulary},
                      {"hidden_size", spec.hidden},
                      {"intermediate_size", spec.ffn},
                      {"num_hidden_layers", spec.layers},
                      {"num_attention_heads", spec.heads},
                      {"num_key_value_heads", spec.kv_heads},
                      {"max_position_embeddings", spec.max_positions},
                      {"tie_word_embeddings", spec.tied_head},
                      {"attention_dropout", 0.0}};
  config[spec.norm == NormKind::kLayerNorm ? "layer_norm_eps" : "rms_norm_eps"] = spec.norm_epsilon;
  write_rope(config, spec);
  return config;
}

void add_family_keys(ordered_json& config, const ModelSpec& spec) {
  const bool gemma = spec.family == Family::kGemma, phi = spec.family == Family::kPhi;
  config["hidden_act"] = gemma ? "gelu_pytorch_tanh" : !phi ? "silu" : spec.activation == ActivationKind::kGelu ? "gelu" : "gelu_new";
  if (gemma) config["hidden_activation"] = "gelu_pytorch_tanh";
  if (spec.family == Family::kLlama) config["mlp_bias"] = spec.mlp_bias;
  if (spec.family == Family::kLlama || spec.family == Family::kQwen3 || gemma) config["attention_bias"] = spec.qkv_bias;
  if (phi || spec.family == Family::kPhi3) config["resid_pdrop"] = config["embd_pdrop"] = 0.0;
  if (spec.family == Family::kStableLm) {
    config.update({{"use_qkv_bias", spec.qkv_bias}, {"use_parallel_residual", spec.parallel_block}, {"hidden_dropout", 0.0}});
  }
  const bool divides = spec.head_dim * spec.heads == spec.hidden;
  const bool takes_width = !phi && spec.family != Family::kStableLm && spec.family != Family::kPhi3;
  if (spec.family != Family::kQwen2 && (takes_width || !divides)) config["head_dim"] = spec.head_dim;
  const bool windows = spec.family == Family::kMistral || spec.family == Family::kMixtral || spec.family == Family::kPhi3;
  if (windows) config["sliding_window"] = spec.window > 0 ? ordered_json(spec.window) : ordered_json();
  if (spec.family != Family::kQwen2 && spec.family != Family::kQwen3) return;
  config["use_sliding_window"] = spec.window > 0;
  if (spec.window == 0) return;
  config["sliding_window"] = spec.window;
  config["max_window_layers"] = 0;
}

Result<ordered_json> llama_config(const ModelSpec& spec) {
  if (const auto known = check_family(spec); !known) return fail(known.error());
  if (spec.family == Family::kQwen2 && spec.head_dim * spec.heads != spec.hidden) {
    return bad(spec, "the heads of a Qwen 2 fill its hidden size; this model's do not");
  }
  ordered_json config = relative_of_llama(spec);
  add_family_keys(config, spec);
  return config;
}

Result<ordered_json> write_t5(const ModelSpec& spec) {
  const bool known = spec.activation == ActivationKind::kRelu || spec.activation == ActivationKind::kGeGluTanh;
  if (known && spec.kv_heads == spec.heads) return t5_config(spec);
  return bad(spec, "a T5 has keys for every head, and ReLU or gated GELU; this model has not");
}

/// Which ids begin, end and pad a text (without them generation does not stop), and what classes are called. A config that
/// cannot be read has none.
void add_token_ids(ordered_json& config, const std::filesystem::path& origin) {
  const auto text = read_text_file(origin / kConfigName, kMaxConfig);
  if (origin.empty() || !text) return;
  const auto parsed = parse_json(*text, origin.string());
  if (!parsed || !parsed->is_object()) return;
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id"}) {
    if (parsed->contains(key)) config[key] = (*parsed)[key];
  }
  const auto names = parsed->find("id2label");
  const bool same_classes = config.contains("id2label") && names != parsed->end() && names->size() == config["id2label"].size();
  for (const char* key : {"id2label", "label2id"}) {
    if (same_classes && parsed->contains(key)) config[key] = (*parsed)[key];
  }
}

}  // namespace

Result<std::string> write_hf_config(const ModelSpec& spec, const ConfigExtras& extras) {
  if (const auto known = check_hf_names(spec); !known) return fail(known.error());
  if (has_newer_keys(spec.family)) {
    return bad(spec, fmt::format("no config.json of the family '{}' is written: save a single .safetensors file",
                                 to_text(spec.family)));
  }
  if (spec.other_arithmetic) return bad(spec, "the family's code in transformers would multiply, clip or rotate otherwise than this model");
  const bool encoder = spec.family == Family::kBert || spec.family == Family::kVit;
  auto config = encoder                        ? encoder_config(spec)
                : spec.family == Family::kT5   ? write_t5(spec)
                : spec.family == Family::kGpt2 ? gpt2_config(spec)
                                               : llama_config(spec);
  if (!config) return fail(config.error());
  if (const auto experts = write_experts(*config, spec); !experts) return fail(experts.error());
  (*config)["torch_dtype"] = extras.type == StoredType::kBf16 ? "bfloat16" : "float32";
  add_token_ids(*config, extras.origin);
  return config->dump(2) + "\n";
}

}  // namespace plimsoll
