#include "formats/models/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/nearest_names.h"
#include "formats/models/config_fields.h"
#include "formats/models/hf_decoder_config.h"
#include "formats/models/hf_dropout.h"
#include "formats/models/hf_encoder_config.h"
#include "formats/models/hf_experts.h"
#include "formats/models/hf_llama_relatives.h"
#include "formats/models/hf_newer_config.h"
#include "formats/models/hf_rope.h"
#include "formats/models/hf_starcoder_config.h"
#include "formats/models/hf_unsupported.h"
#include "formats/models/mask_token.h"
#include "formats/models/unread_families.h"
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
      "early_stopping", "encoder_no_repeat_ngram_size", "eos_token_id", "exponential_decay_length_penalty",
      "finetuning_task", "forced_bos_token_id", "forced_eos_token_id", "gradient_checkpointing", "id2label",
      "initializer_range", "is_decoder", "is_llama_config", "keys_to_ignore_at_inference", "label2id", "length_penalty",
      "max_length", "max_window_layers", "min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
      "num_return_sequences", "output_attentions", "output_hidden_states", "output_past", "output_scores", "pad_token_id",
      "predict_special_tokens", "prefix", "problem_type", "remove_invalid_values", "repetition_penalty", "return_dict",
      "return_dict_in_generate", "sep_token_id", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
      "summary_type", "summary_use_proj", "suppress_tokens", "task_specific_params", "temperature", "tokenizer_class",
      "top_k", "top_p", "torchscript", "transformers.js_config", "transformers_version", "typical_p",
      "unk_token_id", "use_bfloat16", "use_cache"};
  return kKeys;
}

/// A model_type that is read, and the architecture that belongs to it.
struct KnownType {
  std::string_view model_type;
  std::string_view architecture;
  Family family;
};

constexpr KnownType kKnownTypes[] = {
    {"gpt2", "GPT2LMHeadModel", Family::kGpt2},       {"llama", "LlamaForCausalLM", Family::kLlama},
    {"mistral", "MistralForCausalLM", Family::kMistral}, {"qwen2", "Qwen2ForCausalLM", Family::kQwen2},
    {"qwen3", "Qwen3ForCausalLM", Family::kQwen3},    {"gemma", "GemmaForCausalLM", Family::kGemma},
    {"phi", "PhiForCausalLM", Family::kPhi},          {"mixtral", "MixtralForCausalLM", Family::kMixtral},
    {"bert", "BertForMaskedLM", Family::kBert},       {"vit", "ViTForImageClassification", Family::kVit},
    {"opt", "OPTForCausalLM", Family::kOpt},          {"bloom", "BloomForCausalLM", Family::kBloom},
    {"gpt_neox", "GPTNeoXForCausalLM", Family::kGptNeoX}, {"gptj", "GPTJForCausalLM", Family::kGptJ},
    {"falcon", "FalconForCausalLM", Family::kFalcon}, {"mpt", "MPTForCausalLM", Family::kMpt},
    {"stablelm", "StableLmForCausalLM", Family::kStableLm}, {"phi3", "Phi3ForCausalLM", Family::kPhi3},
    {"qwen", "QWenLMHeadModel", Family::kQwen},       {"t5", "T5ForConditionalGeneration", Family::kT5},
    {"switch_transformers", "SwitchTransformersForConditionalGeneration", Family::kT5},
    {"qwen3_moe", "Qwen3MoeForCausalLM", Family::kQwen3}, {"granite", "GraniteForCausalLM", Family::kLlama},
    {"roberta", "RobertaForMaskedLM", Family::kBert}, {"xlm-roberta", "XLMRobertaForMaskedLM", Family::kBert},
    {"starcoder2", "Starcoder2ForCausalLM", Family::kStableLm},
    {"gemma2", "Gemma2ForCausalLM", Family::kGemma2}, {"gemma3_text", "Gemma3ForCausalLM", Family::kGemma3},
    {"olmo", "OlmoForCausalLM", Family::kOlmo},       {"olmo2", "Olmo2ForCausalLM", Family::kOlmo2},
    {"olmoe", "OlmoeForCausalLM", Family::kOlmoe},    {"qwen2_moe", "Qwen2MoeForCausalLM", Family::kQwen2Moe},
    {"gpt_oss", "GptOssForCausalLM", Family::kGptOss}, {"deepseek_v2", "DeepseekV2ForCausalLM", Family::kDeepSeek},
    {"deepseek_v3", "DeepseekV3ForCausalLM", Family::kDeepSeek}, {"gpt_bigcode", "GPTBigCodeForCausalLM", Family::kGptBigCode},
    {"cohere", "CohereForCausalLM", Family::kCohere}, {"llama4_text", "Llama4ForCausalLM", Family::kLlama4},
    {"camembert", "CamembertForMaskedLM", Family::kBert}, {"distilbert", "DistilBertForMaskedLM", Family::kBert},
    {"smollm3", "SmolLM3ForCausalLM", Family::kLlama}, {"seed_oss", "SeedOssForCausalLM", Family::kQwen2},
    {"olmo3", "Olmo3ForCausalLM", Family::kOlmo2},    {"glm4_moe", "Glm4MoeForCausalLM", Family::kQwen2Moe},
    {"kimi_k2", "DeepseekV3ForCausalLM", Family::kDeepSeek},
};

std::string readable_types() {
  std::string all;
  for (const KnownType& known : kKnownTypes) all += fmt::format("{}{}", all.empty() ? "" : ", ", known.model_type);
  return all + " are";
}

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const KnownType& known : kKnownTypes) names.emplace_back(known.model_type);
  return names;
}

/// Reads one configuration into a description.
class ConfigReader {
 public:
  ConfigReader(ConfigFields& fields, std::string name) : fields_(fields) { found_.spec.name = std::move(name); }

  ModelDescription read() {
    const std::string type = fields_.word({"model_type"}, "");
    const auto* const known = std::ranges::find(kKnownTypes, type, &KnownType::model_type);
    if (type.empty()) {
      fields_.fault(
          "the key 'model_type' is missing",
          "where the file is no configuration of Hugging Face: a step graph has \"format\": \"plimsoll step graph\" among its "
          "first keys, a plan goes to plimsoll simulate, a trace to plimsoll import. Of configurations " +
              readable_types());
    }
    if (known == std::end(kKnownTypes)) {
      refuse_type(type);
      return std::move(found_);
    }
    if (!is_encoder_type(type)) note_architecture(*known);
    refuse_unsupported(fields_, known->family, type);
    note_custom_code();
    take_defaults(known->family);
    if (is_encoder_type(type)) {
      read_encoder_config(fields_, type, found_);
    } else if (type == "starcoder2") {
      read_starcoder_config(fields_, found_);
    } else if (has_newer_keys(known->family)) {
      note_stored_code();
      read_newer_config(fields_, type, found_);
    } else if (has_own_decoder_keys(known->family)) {
      read_decoder_config(fields_, found_);
    } else if (known->family == Family::kGpt2) {
      read_gpt2();
    } else {
      read_rotary_model();
      read_llama_relative(fields_, type, found_);
      if (type == "qwen3_moe") take_notes(read_qwen_experts(fields_, found_.spec.experts));
    }
    found_.stated_type = fields_.word({"dtype", "torch_dtype"}, "");
    fields_.pass_over(harmless_keys());
    for (const std::string& key : fields_.unread()) note(fmt::format("the key '{}' is unknown and was not used", key));
    return std::move(found_);
  }

 private:
  void note(std::string text, bool changes_numbers = false) {
    found_.notes.push_back({.text = std::move(text), .changes_numbers = changes_numbers});
  }

  /// What the type is, where that is known; a spelling only where it is near.
  void refuse_type(const std::string& type) {
    const std::string_view what = unread_family(type);
    if (!what.empty()) {
      return fields_.fault(fmt::format("model_type '{}' is {}, which is not simulated", type, what), readable_types());
    }
    const auto near = near_names(type, type_names());
    fields_.fault(fmt::format("model_type '{}' is not supported", type),
                  near.empty() ? fmt::format("{}; or state the shape in words", readable_types())
                               : fmt::format("{}; or state the shape in words. {}", readable_types(), did_you_mean(type, near)));
  }

  /// What is trained is sized as trained, however the file holds it.
  void note_stored_code() {
    const json* stored = fields_.find("quantization_config");
    if (stored != nullptr && !is_off(*stored, 0)) note("'quantization_config' says how weights are stored; training holds them decoded");
  }

  void take_notes(std::vector<ModelNote> notes) { std::ranges::move(notes, std::back_inserter(found_.notes)); }

  static std::optional<std::int64_t> given(std::int64_t size) { return size == 0 ? std::nullopt : std::optional(size); }

  void note_architecture(const KnownType& known) {
    const json* list = fields_.find("architectures");
    if (list == nullptr || !list->is_array()) return;
    for (const json& item : *list) {
      if (!item.is_string()) continue;
      const auto& name = item.get_ref<const std::string&>();
      if (name_key(name) == name_key(known.architecture)) continue;  // old files write LLaMAForCausalLM
      if (std::ranges::find(kKnownTypes, name, &KnownType::architecture) != std::end(kKnownTypes)) {
        fields_.fault(fmt::format("the architecture '{}' contradicts the model_type '{}'", name, known.model_type));
      }
      note(fmt::format("the architecture '{}' is treated as a language model with its head", name), true);
    }
  }

  void note_custom_code() {
    const json* map = fields_.find("auto_map");
    if (map == nullptr || is_off(*map, 0)) return;
    note("'auto_map' names code of the model's own, which is not read", true);
  }

  void take_defaults(Family family) {
    std::string name = std::move(found_.spec.name);
    found_.spec = family_defaults(family);
    found_.spec.name = std::move(name);
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
    note_dropout(fields_, {"attn_pdrop", "embd_pdrop", "resid_pdrop"}, found_);
  }

  void read_gelu(const std::string& word) {
    const bool tanh = word == "gelu_new" || word == "gelu_pytorch_tanh" || word == "gelu_fast";
    if (!tanh && word != "gelu")
      fields_.fault(fmt::format("the activation '{}' is not supported", word), "gelu_new and gelu are");
    found_.spec.activation = tanh ? ActivationKind::kGeluTanh : ActivationKind::kGelu;
  }

  /// Llama and its relatives, which share the names of their keys.
  void read_rotary_model() {
    ModelSpec& spec = found_.spec;
    const bool stable = spec.family == Family::kStableLm;
    const bool llama = spec.family == Family::kLlama || stable || spec.family == Family::kPhi3, phi = spec.family == Family::kPhi;
    spec.vocabulary = fields_.size({"vocab_size"});
    spec.layers = fields_.size({"num_hidden_layers"});
    spec.hidden = fields_.size({"hidden_size"});
    spec.ffn = fields_.size({"intermediate_size"});
    spec.heads = fields_.size({"num_attention_heads"});
    spec.kv_heads = fields_.size({"num_key_value_heads"}, llama || phi ? std::optional(spec.heads) : std::nullopt);
    const std::int64_t context = fields_.size({"max_sequence_length"}, 0);  // an older name, as above
    spec.max_positions = fields_.size({"max_position_embeddings"}, given(context));
    const double usual = phi || stable || spec.family == Family::kMixtral || spec.family == Family::kPhi3 ? 1e-5 : 1e-6;
    const bool layer_norm = spec.norm == NormKind::kLayerNorm;
    spec.norm_epsilon = layer_norm ? fields_.positive({"layer_norm_eps"}, usual) : fields_.positive({"rms_norm_eps"}, usual);
    spec.tied_head = fields_.flag("tie_word_embeddings", spec.tied_head);
    fill_heads(given(fields_.size({"head_dim"}, 0)));
    read_family();
    read_activation();
    if (const auto scaling = read_rope(fields_, spec, usual_rotated_share())) note(*scaling, true);
    read_window();
    note_dropout(fields_, {"attention_dropout", "resid_pdrop", "embd_pdrop", "hidden_dropout"}, found_);
  }

  /// Of a head, when the file does not say; nothing where the family rotates all of it.
  [[nodiscard]] std::optional<double> usual_rotated_share() const {
    switch (found_.spec.family) {
      case Family::kPhi: return 0.5;
      case Family::kStableLm: return 0.25;
      case Family::kPhi3: return 1.0;
      default: return std::nullopt;
    }
  }

  /// What a family has of its own.
  void read_family() {
    ModelSpec& spec = found_.spec;
    if (spec.family == Family::kLlama || spec.family == Family::kQwen3 || spec.family == Family::kGemma) {
      spec.qkv_bias = spec.projection_bias = fields_.flag("attention_bias", false);
    }
    if (spec.family == Family::kLlama) {
      spec.mlp_bias = fields_.flag("mlp_bias", false);
      if (fields_.size({"pretraining_tp"}, 1) != 1) note("'pretraining_tp' splits products differently; it is not followed");
    }
    if (spec.family == Family::kGemma) spec.embedding_scale = std::sqrt(static_cast<double>(spec.hidden));
    if (spec.family == Family::kPhi) fields_.flag("qk_layernorm", false);
    if (spec.family == Family::kStableLm) {
      spec.qkv_bias = fields_.flag("use_qkv_bias", false);
      spec.parallel_block = fields_.flag("use_parallel_residual", false);
    }
    if (spec.family == Family::kPhi3) fields_.pass_over({"original_max_position_embeddings"});
    if (spec.family == Family::kMixtral) {
      for (std::string& text : read_experts(fields_, spec.experts)) note(std::move(text));
    }
  }

  void read_activation() {
    if (found_.spec.family == Family::kPhi) return read_gelu(fields_.word({"hidden_act"}, "gelu_new"));
    const bool gemma = found_.spec.family == Family::kGemma;
    // Gemma's first files say gelu and mean its approximation by tanh, as every version of transformers takes it.
    const std::string usual = gemma ? "gelu_pytorch_tanh" : "silu";
    const std::string stated = fields_.word({"hidden_act"}, usual);
    const std::string activation = gemma ? fields_.word({"hidden_activation"}, stated) : stated;
    const bool same = activation == usual || (gemma && activation == "gelu") || (!gemma && activation == "swish");
    if (!same) fields_.fault(fmt::format("the activation '{}' is not supported", activation), usual + " is");
  }

  /// Within its window attention is full; which layers have one does not matter then.
  void read_window() {
    ModelSpec& spec = found_.spec;
    const bool phi3 = spec.family == Family::kPhi3;
    const bool mistral = spec.family == Family::kMistral || spec.family == Family::kMixtral || phi3;
    if (!mistral && spec.family != Family::kQwen2 && spec.family != Family::kQwen3) return;
    const bool used = mistral || fields_.flag("use_sliding_window", false);
    constexpr std::int64_t kUsual = 4096;  // where the file does not say
    const bool usual_none = (spec.family == Family::kMixtral || phi3) && !fields_.states("sliding_window");
    const bool none = usual_none || (fields_.states("sliding_window") && fields_.find("sliding_window") == nullptr);
    const std::int64_t window = none ? 0 : fields_.size({"sliding_window"}, kUsual);
    if (used && window < spec.max_positions) spec.window = window;
    const json* layers = fields_.find("layer_types");
    if (layers == nullptr || !layers->is_array()) return;
    for (const json& kind : *layers) {
      if (kind == "full_attention") continue;
      if (kind != "sliding_attention")
        return note(fmt::format("'layer_types' asks for {}, which is not applied", kind.dump()), true);
      if (!used || none) return fields_.fault("'layer_types' asks for sliding attention, but the file has no window for it");
    }
  }

  ConfigFields& fields_;
  ModelDescription found_;
};

/// The file or folder that a model was read from stands in the error.
Result<void> check_spec(const ModelSpec& spec, std::string_view where) {
  const auto valid = validate(spec);
  if (valid) return {};
  Error error = valid.error();
  error.where = where;
  return fail(std::move(error));
}

}  // namespace

Result<ModelDescription> parse_hf_config(std::string_view text, std::string_view where, std::string name) {
  const auto parsed = parse_json(text, where);
  if (!parsed) return fail(parsed.error());
  if (!parsed->is_object()) {
    return fail({.kind = ErrorKind::kInput, .what = "expected an object", .where = std::string(where), .remedy = {}});
  }
  const auto only_text = text_part(*parsed, where);
  if (!only_text) return fail(only_text.error());
  ConfigFields fields(*only_text ? **only_text : *parsed, std::string(where));
  ModelDescription found = ConfigReader(fields, std::move(name)).read();
  if (*only_text) {
    found.notes.push_back({.text = "'text_config' alone is read: the tower of images is left out", .changes_numbers = true});
  }
  if (fields.error()) return fail(*fields.error());
  if (const auto valid = check_spec(found.spec, where); !valid) return fail(valid.error());
  return found;
}

Result<ModelDescription> read_hf_config(const std::filesystem::path& path) {
  const auto text = read_text_file(path, kMaxConfig);
  if (!text) return fail(text.error());
  std::error_code ignored;  // an unresolvable path only costs the name
  const auto folder = std::filesystem::absolute(path, ignored).parent_path().lexically_normal();
  auto found = parse_hf_config(*text, path.string(), folder.filename().string());
  if (!found) return found;
  if (found->spec.head == HeadKind::kMaskedToken) found->spec.mask_token = find_mask_token(folder);
  if (found->spec.reads_images()) {
    const auto normalized = read_preprocessor(folder, found->spec.image);
    if (!normalized) return fail(normalized.error());
  }
  // The files beside the config say things of the model, too.
  if (const auto valid = check_spec(found->spec, folder.string()); !valid) return fail(valid.error());
  return found;
}

}  // namespace plimsoll
