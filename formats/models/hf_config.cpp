#include "formats/models/hf_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/nearest_names.h"
#include "formats/models/config_fields.h"
#include "formats/text/parse_json.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

using nlohmann::json;

constexpr Bytes kMaxConfig = 4 * kMiB;

/// Settings of tokens, generation, training and bookkeeping, which decide nothing about the model's shape or arithmetic.
const std::vector<std::string_view>& harmless_keys() {
  static const std::vector<std::string_view> kKeys = {
      "_name_or_path", "_commit_hash", "_attn_implementation_autoset", "_flash_attn_2_enabled", "attn_implementation",
      "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "chunk_size_feed_forward", "diversity_penalty", "do_sample",
      "dtype", "early_stopping", "encoder_no_repeat_ngram_size", "eos_token_id", "exponential_decay_length_penalty",
      "finetuning_task", "forced_bos_token_id", "forced_eos_token_id", "gradient_checkpointing", "id2label",
      "initializer_range", "is_decoder", "is_llama_config", "keys_to_ignore_at_inference", "label2id", "length_penalty",
      "max_length", "max_window_layers", "min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
      "num_return_sequences", "output_attentions", "output_hidden_states", "output_past", "output_scores", "pad_token_id",
      "predict_special_tokens", "prefix", "problem_type", "remove_invalid_values", "repetition_penalty", "return_dict",
      "return_dict_in_generate", "sep_token_id", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
      "summary_type", "summary_use_proj", "suppress_tokens", "task_specific_params", "temperature", "tokenizer_class",
      "top_k", "top_p", "torch_dtype", "torchscript", "transformers.js_config", "transformers_version", "typical_p",
      "unk_token_id", "use_bfloat16", "use_cache"};
  return kKeys;
}

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
    {"qk_layernorm", "normalised queries and keys"},
    {"rope_interleaved", "interleaved rotary pairs"},
    {"partial_rotary_factor", "partly rotary heads", 1},
    {"attn_logit_softcapping", "capped attention scores"},
    {"final_logit_softcapping", "capped logits"},
    {"scale_attn_by_inverse_layer_idx", "attention scores scaled by layer"},
};

bool is_off(const json& value, double neutral) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<double>() == 0 || value.get<double>() == neutral;
  return value.is_null() || ((value.is_object() || value.is_array()) && value.empty());
}

void refuse_unsupported(ConfigFields& fields) {
  for (const auto& [key, what, neutral] : kUnsupported) {
    const json* value = fields.find(key);
    if (value == nullptr || is_off(*value, neutral)) continue;
    fields.fault(fmt::format("'{}' asks for {}, which is not supported", key, what));
  }
}

/// Reads one configuration into a description.
class ConfigReader {
 public:
  ConfigReader(ConfigFields& fields, std::string name) : fields_(fields) { found_.spec.name = std::move(name); }

  ModelDescription read() {
    const std::string type = fields_.word({"model_type"}, "");
    note_architecture();
    refuse_unsupported(fields_);
    note_custom_code();
    if (type == "gpt2") read_gpt2();
    if (type == "llama" || type == "mistral") read_llama(type == "mistral");
    if (type.empty()) fields_.fault("the key 'model_type' is missing", "expected gpt2, llama or mistral");
    if (found_.spec.layers == 0) {
      fields_.fault(fmt::format("model_type '{}' is not supported", type), "gpt2, llama and mistral are");
    }
    fields_.pass_over(harmless_keys());
    for (const std::string& key : fields_.unread()) note(fmt::format("the key '{}' is unknown and was not used", key));
    return std::move(found_);
  }

 private:
  void note(std::string text, bool changes_numbers = false) {
    found_.notes.push_back({.text = std::move(text), .changes_numbers = changes_numbers});
  }

  static std::optional<std::int64_t> given(std::int64_t size) { return size == 0 ? std::nullopt : std::optional(size); }

  void note_architecture() {
    const json* list = fields_.find("architectures");
    if (list == nullptr || !list->is_array()) return;
    for (const json& item : *list) {
      if (!item.is_string()) continue;
      const auto& name = item.get_ref<const std::string&>();
      if (name == "GPT2LMHeadModel" || name_key(name) == "llamaforcausallm" || name == "MistralForCausalLM") continue;
      note(fmt::format("the architecture '{}' is treated as a language model with its head", name), true);
    }
  }

  void note_custom_code() {
    const json* map = fields_.find("auto_map");
    if (map == nullptr || is_off(*map, 0)) return;
    note("'auto_map' names code of the model's own, which is not read", true);
  }

  void note_dropout(ConfigFields::Names names) {
    for (const std::string_view name : names) {
      const json* value = fields_.find(name);
      if (value == nullptr || is_off(*value, 0)) continue;
      note(fmt::format("'{}' is {}, but training here applies no dropout", name, value->dump()));
    }
  }

  void fill_heads(std::optional<std::int64_t> head_dim) {
    ModelSpec& spec = found_.spec;
    if (!head_dim && spec.hidden % spec.heads != 0) {
      fields_.fault(fmt::format("the hidden size {} is not a multiple of {} heads", spec.hidden, spec.heads));
    }
    spec.head_dim = head_dim.value_or(spec.hidden / spec.heads);
  }

  void read_gpt2() {
    ModelSpec& spec = found_.spec;
    const std::string name = std::move(spec.name);
    spec = family_defaults(Family::kGpt2);
    spec.name = name;
    spec.vocabulary = fields_.size({"vocab_size"});
    spec.layers = fields_.size({"n_layer", "num_hidden_layers"});
    spec.hidden = fields_.size({"n_embd", "hidden_size"});
    spec.heads = fields_.size({"n_head", "num_attention_heads"});
    spec.kv_heads = spec.heads;
    const std::int64_t context = fields_.size({"n_ctx"}, 0);  // an older name, which newer readers ignore
    spec.max_positions = fields_.size({"n_positions", "max_position_embeddings"}, given(context));
    spec.ffn = fields_.size({"n_inner", "intermediate_size"}, 4 * spec.hidden);
    spec.norm_epsilon = fields_.positive({"layer_norm_epsilon"}, 1e-5);
    spec.tied_head = fields_.flag("tie_word_embeddings", true);
    fill_heads({});
    read_gelu(fields_.word({"activation_function", "hidden_act"}, "gelu_new"));
    if (!fields_.flag("scale_attn_weights", true)) fields_.fault("'scale_attn_weights' false is not supported");
    if (fields_.flag("reorder_and_upcast_attn", false)) note("'reorder_and_upcast_attn' is not followed", true);
    note_dropout({"attn_pdrop", "embd_pdrop", "resid_pdrop"});
  }

  void read_gelu(const std::string& word) {
    const bool tanh = word == "gelu_new" || word == "gelu_pytorch_tanh" || word == "gelu_fast";
    if (!tanh && word != "gelu") fields_.fault(fmt::format("the activation '{}' is not supported", word), "gelu_new and gelu are");
    found_.spec.activation = tanh ? ActivationKind::kGeluTanh : ActivationKind::kGelu;
  }

  void read_llama(bool mistral) {
    ModelSpec& spec = found_.spec;
    const std::string name = std::move(spec.name);
    spec = family_defaults(Family::kLlama);
    spec.name = name;
    spec.vocabulary = fields_.size({"vocab_size"});
    spec.layers = fields_.size({"num_hidden_layers"});
    spec.hidden = fields_.size({"hidden_size"});
    spec.ffn = fields_.size({"intermediate_size"});
    spec.heads = fields_.size({"num_attention_heads"});
    spec.kv_heads = fields_.size({"num_key_value_heads"}, mistral ? std::nullopt : std::optional(spec.heads));
    const std::int64_t context = fields_.size({"max_sequence_length"}, 0);  // an older name, as above
    spec.max_positions = fields_.size({"max_position_embeddings"}, given(context));
    spec.norm_epsilon = fields_.positive({"rms_norm_eps"}, 1e-6);
    spec.tied_head = fields_.flag("tie_word_embeddings", false);
    spec.attention_bias = fields_.flag("attention_bias", false);
    spec.mlp_bias = fields_.flag("mlp_bias", false);
    fill_heads(given(fields_.size({"head_dim"}, 0)));
    const std::string activation = fields_.word({"hidden_act"}, "silu");
    if (activation != "silu" && activation != "swish") {
      fields_.fault(fmt::format("the activation '{}' is not supported", activation), "silu is");
    }
    read_rotary();
    note_windows();
    note_dropout({"attention_dropout"});
    if (fields_.size({"pretraining_tp"}, 1) != 1) note("'pretraining_tp' splits products differently; it is not followed");
  }

  void read_rotary() {
    found_.spec.rope_theta = fields_.positive({"rope_theta"}, 10000.0);
    for (const std::string_view key : {std::string_view("rope_parameters"), std::string_view("rope_scaling")}) {
      const json* value = fields_.find(key);
      if (value == nullptr || is_off(*value, 0)) continue;
      if (!value->is_object()) return fields_.fault(fmt::format("'{}': expected an object", key));
      read_rotary_object(key, *value);
    }
  }

  void read_rotary_object(std::string_view key, const json& value) {
    bool scaled = false;
    for (const auto& [name, item] : value.items()) {
      if (name == "rope_theta") {
        read_nested_theta(key, item);
      } else if (name == "rope_type" || name == "type") {
        scaled = scaled || !(item.is_null() || item == "default");
      } else if (name == "partial_rotary_factor") {
        if (!is_off(item, 1)) fields_.fault(fmt::format("'{}' asks for partly rotary heads, which is not supported", key));
      } else {
        scaled = true;
      }
    }
    if (scaled) note(fmt::format("'{}' asks for rotary scaling, which is not applied: {}", key, value.dump()), true);
  }

  void read_nested_theta(std::string_view key, const json& theta) {
    if (!theta.is_number() || !(theta.get<double>() > 0)) {
      return fields_.fault(fmt::format("'{}': expected a positive rope_theta", key));
    }
    const bool stated = fields_.find("rope_theta") != nullptr;
    if (stated && theta.get<double>() != found_.spec.rope_theta) {
      return fields_.fault(fmt::format("'rope_theta' and the one in '{}' disagree", key));
    }
    found_.spec.rope_theta = theta.get<double>();
  }

  void note_windows() {
    const json* window = fields_.find("sliding_window");
    const bool used = fields_.flag("use_sliding_window", true);
    const auto positions = static_cast<std::uint64_t>(found_.spec.max_positions);
    const bool covers_all = window != nullptr && window->is_number_unsigned() && window->get<std::uint64_t>() >= positions;
    if (window != nullptr && used && !covers_all) {
      note(fmt::format("the sliding attention window of {} tokens is not applied", window->dump()), true);
    }
    const json* layers = fields_.find("layer_types");
    if (layers == nullptr || !layers->is_array()) return;
    const bool all_full = std::all_of(layers->begin(), layers->end(), [](const json& kind) { return kind == "full_attention"; });
    if (!all_full) note("'layer_types' asks for attention other than full attention, which is not applied", true);
  }

  ConfigFields& fields_;
  ModelDescription found_;
};

}  // namespace

Result<ModelDescription> parse_hf_config(std::string_view text, std::string_view where, std::string name) {
  const auto parsed = parse_json(text, where);
  if (!parsed) return fail(parsed.error());
  if (!parsed->is_object()) {
    return fail({.kind = ErrorKind::kInput, .what = "expected an object", .where = std::string(where), .remedy = {}});
  }
  ConfigFields fields(*parsed, std::string(where));
  ModelDescription found = ConfigReader(fields, std::move(name)).read();
  if (fields.error()) return fail(*fields.error());
  if (auto valid = validate(found.spec); !valid) {
    Error error = valid.error();
    error.where = where;
    return fail(std::move(error));
  }
  return found;
}

Result<ModelDescription> read_hf_config(const std::filesystem::path& path) {
  const auto text = read_text_file(path, kMaxConfig);
  if (!text) return fail(text.error());
  std::error_code ignored;  // an unresolvable path only costs the name
  const auto folder = std::filesystem::absolute(path, ignored).parent_path().lexically_normal();
  return parse_hf_config(*text, path.string(), folder.filename().string());
}

}  // namespace plimsoll
