#include "formats/models/hf_newer_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "formats/models/hf_dropout.h"
#include "formats/models/hf_mixture_config.h"
#include "formats/models/hf_rope.h"

namespace plimsoll {
namespace {

using nlohmann::json;

constexpr Family kNewer[] = {Family::kGemma2,     Family::kGemma3,   Family::kOlmo,   Family::kOlmo2,
                             Family::kOlmoe,      Family::kQwen2Moe, Family::kGptOss, Family::kDeepSeek,
                             Family::kGptBigCode, Family::kCohere,   Family::kLlama4};

constexpr double kOlmo3Theta = 500000;  // transformers' own, where a file with two rotations does not say it

/// Files whose text part is read, and the model_type of that part.
struct SeveralModalities {
  std::string_view type;
  std::string_view text_type;
};

constexpr SeveralModalities kSeveral[] = {{"gemma3", "gemma3_text"}, {"llama4", "llama4_text"}, {"mistral3", "mistral"}};

/// One reader a family, each a plain list of its keys; the first fault stays in the fields.
class NewerReader {
 public:
  NewerReader(ConfigFields& fields, std::string_view type, ModelDescription& found)
      : fields_(fields), type_(type), found_(found), spec_(found.spec) {}

  void read() {
    if (spec_.family == Family::kGptBigCode) return read_big_code();
    read_sizes();
    read_choices();
    switch (spec_.family) {
      case Family::kGemma2:
      case Family::kGemma3:
        read_gemma();
        break;
      case Family::kOlmo:
      case Family::kOlmoe:
        read_clip();
        break;
      case Family::kOlmo2:
        if (type_ == "olmo3") read_alternation(fields_.size({"sliding_window"}, 4096), 4);
        break;
      case Family::kCohere:
        read_cohere();
        break;
      default:
        break;
    }
    if (is_mixture(spec_.family)) read_mixture_config(fields_, type_, found_);
    read_rotation();
    note_dropout(fields_, {"attention_dropout"}, found_);
  }

 private:
  void note(std::string text, bool changes_numbers = false) {
    found_.notes.push_back({.text = std::move(text), .changes_numbers = changes_numbers});
  }

  /// What no kernel here does, though it takes no room.
  void own_arithmetic(std::string what) {
    spec_.other_arithmetic = true;
    note(fmt::format("{}, for which there are no kernels", what), true);
  }

  /// What transformers takes where a file does not say it; a null is as many as query heads.
  std::int64_t usual_kv_heads() {
    if (fields_.states("num_key_value_heads")) return spec_.heads;
    switch (spec_.family) {
      case Family::kGemma2:
      case Family::kGemma3:
        return 4;
      case Family::kGptOss:
      case Family::kLlama4:
        return 8;
      case Family::kQwen2Moe:
        return 16;
      default:
        return spec_.heads;
    }
  }

  /// As above: nothing where the hidden size is divided.
  std::optional<std::int64_t> usual_head_dim() {
    if (spec_.family == Family::kGemma2 || spec_.family == Family::kGemma3) return 256;
    if (fields_.states("head_dim")) return {};
    if (spec_.family == Family::kGptOss) return 64;
    if (spec_.family == Family::kLlama4) return 128;
    return {};
  }

  /// Gemma 3's files of several modalities leave out what is as in the 4B model.
  void read_sizes() {
    const bool text = spec_.family == Family::kGemma3;
    const auto usual = [&](std::int64_t size) { return text ? std::optional(size) : std::nullopt; };
    spec_.vocabulary = fields_.size({"vocab_size"}, usual(262208));
    spec_.layers = fields_.size({"num_hidden_layers"}, usual(26));
    spec_.hidden = fields_.size({"hidden_size"}, usual(2304));
    spec_.ffn = fields_.size({"intermediate_size"}, usual(9216));
    spec_.heads = fields_.size({"num_attention_heads"}, usual(8));
    spec_.kv_heads = fields_.size({"num_key_value_heads"}, usual_kv_heads());
    spec_.max_positions = fields_.size({"max_position_embeddings"}, usual(131072));
    const std::optional<std::int64_t> own = usual_head_dim();
    if (fields_.find("head_dim") == nullptr && !own && spec_.hidden % spec_.heads != 0) {
      fields_.fault(fmt::format("the hidden size {} is not a multiple of {} heads", spec_.hidden, spec_.heads));
    }
    spec_.head_dim = fields_.size({"head_dim"}, own.value_or(std::max<std::int64_t>(1, spec_.hidden / spec_.heads)));
  }

  void read_choices() {
    const bool layer_norm = spec_.norm == NormKind::kLayerNorm;
    constexpr std::string_view kLarger[] = {"olmo2", "olmo3", "olmoe", "gpt_oss", "llama4_text", "glm4_moe"};
    const double usual = layer_norm || std::ranges::find(kLarger, type_) != std::end(kLarger) ? 1e-5 : 1e-6;
    if (spec_.norm_weight)
      spec_.norm_epsilon = fields_.positive({layer_norm ? "layer_norm_eps" : "rms_norm_eps"}, usual);
    spec_.tied_head = fields_.flag("tie_word_embeddings", spec_.tied_head);
    const bool biased = fields_.flag("attention_bias", spec_.family == Family::kGptOss);
    if (spec_.family != Family::kQwen2Moe) spec_.qkv_bias = spec_.projection_bias = biased;
    const bool tanh = spec_.activation == ActivationKind::kGeGluTanh;
    const std::string_view wanted = tanh ? "gelu_pytorch_tanh" : "silu";
    const std::string stated = fields_.word({tanh ? "hidden_activation" : "hidden_act"}, wanted);
    if (tanh) fields_.pass_over({"hidden_act"});
    if (stated != wanted)
      fields_.fault(fmt::format("the activation '{}' is not supported", stated), std::string(wanted) + " is");
    if (fields_.size({"pretraining_tp"}, 1) != 1)
      note("'pretraining_tp' splits products differently; it is not followed");
  }

  void read_gemma() {
    const bool third = spec_.family == Family::kGemma3;
    spec_.embedding_scale = std::sqrt(static_cast<double>(spec_.hidden));
    spec_.score_cap = read_cap("attn_logit_softcapping", third ? 0 : 50);
    spec_.logit_cap = read_cap("final_logit_softcapping", third ? 0 : 30);
    fields_.pass_over({"cache_implementation", "use_bidirectional_attention"});
    const double scale = fields_.positive({"query_pre_attn_scalar"}, 256);
    if (scale != static_cast<double>(spec_.head_dim)) {
      own_arithmetic(
          fmt::format("scores are divided by the root of 'query_pre_attn_scalar' {}, not of {} elements of a head",
                      scale, spec_.head_dim));
    }
    read_alternation(fields_.size({"sliding_window"}, 4096),
                     fields_.size({"sliding_window_pattern", "_sliding_window_pattern"}, third ? 6 : 2));
  }

  /// A cap that the file does not state is the family's; null is none.
  double read_cap(std::string_view key, double usual) {
    if (fields_.find(key) != nullptr) return fields_.positive({key}, 1);
    return fields_.states(key) ? 0 : usual;
  }

  /// Which blocks see all: every n-th. A list of layers that says otherwise is no case of it.
  void read_alternation(std::int64_t window, std::int64_t every) {
    spec_.window = window;
    spec_.full_every = every;
    const json* layers = fields_.find("layer_types");
    if (layers == nullptr) return;
    if (!layers->is_array() || static_cast<std::int64_t>(layers->size()) != spec_.layers) {
      return fields_.fault(fmt::format("'layer_types' is no list of {} layers", spec_.layers));
    }
    spec_.full_every = 1;
    for (const json& kind : *layers) {
      if (kind == "full_attention") break;
      ++spec_.full_every;
    }
    for (std::int64_t i = 0; i < spec_.layers; ++i) {
      const bool same =
          (*layers)[static_cast<std::size_t>(i)] == (spec_.has_window(i) ? "sliding_attention" : "full_attention");
      if (!same)
        return fields_.fault("'layer_types' is no alternation of sliding and full attention: every n-th block full");
    }
  }

  void read_clip() {
    if (fields_.find("clip_qkv") == nullptr) return;
    own_arithmetic(
        fmt::format("queries, keys and values are bounded by 'clip_qkv' {}", fields_.positive({"clip_qkv"}, 1)));
  }

  void read_cohere() {
    const double scale = fields_.positive({"logit_scale"}, 0.0625);
    spec_.other_arithmetic = false;
    if (scale != 1) own_arithmetic(fmt::format("logits are multiplied by 'logit_scale' {}", scale));
    if (fields_.flag("use_qk_norm", false))
      fields_.fault("'use_qk_norm' asks for a LayerNorm of each head, which is not supported");
  }

  /// transformers 5 writes rotations of full and sliding blocks apart.
  void read_rotation() {
    const json* parameters = fields_.find("rope_parameters");
    const bool apart = type_ == "olmo3" && parameters != nullptr && parameters->contains("full_attention");
    if (spec_.family == Family::kGemma3 || apart) return read_two_rotations();
    if (spec_.family == Family::kGptOss) fields_.pass_over({"initial_context_length"});
    const auto half = type_ == "glm4_moe" ? std::optional(0.5) : std::nullopt;
    if (const auto scaling = read_rope(fields_, spec_, half)) own_arithmetic(*scaling);
    if (type_ == "olmo3" && spec_.rope_scaling.kind != RopeScalingKind::kNone) spec_.local_rope_theta = spec_.rope_theta;
    if (spec_.latent.exists()) spec_.rotary_dim = spec_.latent.rope_dim;
  }

  /// Of one kind of blocks: what 'rope_parameters' says of it, and older keys beside.
  ModelSpec rotation_of(const char* kind, const char* base, double usual, const json* scaling) {
    const json* parameters = fields_.find("rope_parameters");
    const json own = parameters != nullptr && parameters->contains(kind) ? (*parameters)[kind] : json();
    const double theta = fields_.positive({base}, usual);
    const bool stated = own.is_object() && own.contains("rope_theta") && !own["rope_theta"].is_null();
    json plain{{"rope_parameters", own}};
    if (!stated || fields_.find(base) != nullptr) plain["rope_theta"] = theta;
    if (scaling != nullptr) plain["rope_scaling"] = *scaling;
    ModelSpec read = spec_;
    ConfigFields of_kind(plain, "config.json");
    if (const auto unread = read_rope(of_kind, read, {})) own_arithmetic(*unread);
    if (of_kind.error()) fields_.fault(of_kind.error()->what, of_kind.error()->remedy);
    return read;
  }

  void read_two_rotations() {
    const json* parameters = fields_.find("rope_parameters");
    if (parameters != nullptr && !parameters->contains("full_attention")) {
      return fields_.fault(
          "'rope_parameters' has no 'full_attention': expected rotations of full and of sliding attention");
    }
    const bool gemma = spec_.family == Family::kGemma3;
    const ModelSpec full = rotation_of("full_attention", "rope_theta", gemma ? 1e6 : kOlmo3Theta, fields_.find("rope_scaling"));
    const ModelSpec sliding = rotation_of("sliding_attention", "rope_local_base_freq", gemma ? 1e4 : full.rope_theta, nullptr);
    spec_.rope_theta = full.rope_theta;
    spec_.rope_scaling = full.rope_scaling;
    spec_.local_rope_theta = sliding.rope_theta;
    if (sliding.rope_scaling.kind == RopeScalingKind::kNone) return;
    own_arithmetic("'rope_parameters' stretches the rotation of sliding attention");
  }

  void read_big_code() {
    spec_.vocabulary = fields_.size({"vocab_size"});
    spec_.layers = fields_.size({"n_layer", "num_hidden_layers"});
    spec_.hidden = fields_.size({"n_embd", "hidden_size"});
    spec_.heads = fields_.size({"n_head", "num_attention_heads"});
    spec_.max_positions = fields_.size({"n_positions", "max_position_embeddings"});
    spec_.ffn = fields_.size({"n_inner", "intermediate_size"}, 4 * spec_.hidden);
    spec_.norm_epsilon = fields_.positive({"layer_norm_epsilon"}, 1e-5);
    spec_.tied_head = fields_.flag("tie_word_embeddings", true);
    spec_.kv_heads = 1;
    if (fields_.size({"num_key_value_heads"}, 1) != 1) fields_.fault("'num_key_value_heads' of GPT-BigCode is 1");
    if (!fields_.flag("multi_query", true))
      fields_.fault("'multi_query' false is not supported", "one key head for all queries is");
    if (spec_.hidden % spec_.heads != 0)
      fields_.fault(fmt::format("the hidden size {} is not a multiple of {} heads", spec_.hidden, spec_.heads));
    spec_.head_dim = std::max<std::int64_t>(1, spec_.hidden / spec_.heads);
    const std::string activation = fields_.word({"activation_function"}, "gelu_pytorch_tanh");
    const bool tanh = activation == "gelu_pytorch_tanh" || activation == "gelu_new" || activation == "gelu_fast";
    if (!tanh && activation != "gelu") {
      fields_.fault(fmt::format("the activation '{}' is not supported", activation), "gelu_pytorch_tanh and gelu are");
    }
    spec_.activation = tanh ? ActivationKind::kGeluTanh : ActivationKind::kGelu;
    if (!fields_.flag("scale_attn_weights", true)) fields_.fault("'scale_attn_weights' false is not supported");
    fields_.pass_over({"attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "runner_max_sequence_length",
                       "inference_runner", "pre_allocate_kv_cache", "validate_runner_input", "max_batch_size",
                       "max_sequence_length"});
    note_dropout(fields_, {"attn_pdrop", "embd_pdrop", "resid_pdrop"}, found_);
  }

  ConfigFields& fields_;
  std::string_view type_;
  ModelDescription& found_;
  ModelSpec& spec_;
};

}  // namespace

bool has_newer_keys(Family family) { return std::ranges::find(kNewer, family) != std::end(kNewer); }

void read_newer_config(ConfigFields& fields, std::string_view type, ModelDescription& found) {
  NewerReader(fields, type, found).read();
}

Result<std::optional<json>> text_part(const json& config, std::string_view where) {
  const auto type = config.find("model_type"), text = config.find("text_config");
  if (type == config.end() || !type->is_string()) return std::nullopt;
  const auto several = type->get<std::string>();
  const auto* const known = std::ranges::find(kSeveral, several, &SeveralModalities::type);
  if (known == std::end(kSeveral)) return std::nullopt;
  const std::string alone(known->text_type);
  const auto wrong = [&](std::string what) {
    return fail({.kind = ErrorKind::kInput,
                 .what = std::move(what),
                 .where = std::string(where),
                 .remedy = fmt::format("'{}' is the model_type of a file of text alone", alone)});
  };
  if (text == config.end() || !text->is_object()) {
    return wrong(fmt::format("a '{}' of text and images says its sizes in 'text_config', which is missing", several));
  }
  if (text->value("model_type", json(alone)) != alone) {
    return wrong(fmt::format("the 'text_config' of a '{}' is of another model_type: {}", several, (*text)["model_type"].dump()));
  }
  json part = *text;
  part["model_type"] = alone;
  for (const char* key : {"tie_word_embeddings", "quantization_config", "is_encoder_decoder"}) {
    if (config.contains(key) && !part.contains(key)) part[key] = config[key];
  }
  return part;
}

}  // namespace plimsoll
