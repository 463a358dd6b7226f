#include "formats/models/hf_decoder_config.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "formats/models/hf_dropout.h"
#include "formats/models/hf_rope.h"
#include "formats/models/hf_t5_config.h"

namespace plimsoll {
namespace {

using nlohmann::json;

/// One reader a family, each a plain list of its keys; the first fault stays in the fields.
class DecoderReader {
 public:
  DecoderReader(ConfigFields& fields, ModelDescription& found) : fields_(fields), found_(found), spec_(found.spec) {}

  void read() {
    spec_.vocabulary = fields_.size({"vocab_size"});
    switch (spec_.family) {
      case Family::kOpt: return read_opt();
      case Family::kBloom: return read_bloom();
      case Family::kGptNeoX: return read_neox();
      case Family::kGptJ: return read_gptj();
      case Family::kFalcon: return read_falcon();
      case Family::kMpt: return read_mpt();
      default: return read_qwen();
    }
  }

 private:
  void note(std::string text, bool changes_numbers = false) {
    found_.notes.push_back({.text = std::move(text), .changes_numbers = changes_numbers});
  }

  void read_sizes(ConfigFields::Names layers, ConfigFields::Names hidden, ConfigFields::Names heads) {
    spec_.layers = fields_.size(layers);
    spec_.hidden = fields_.size(hidden);
    spec_.heads = spec_.kv_heads = fields_.size(heads);
    if (spec_.hidden % spec_.heads != 0) {
      fields_.fault(fmt::format("the hidden size {} ('{}') is not a multiple of {} heads ('{}')", spec_.hidden, *hidden.begin(),
                                spec_.heads, *heads.begin()),
                    "state sizes that divide");
    }
    spec_.head_dim = spec_.hidden / spec_.heads;
  }

  /// Of a key that must have one value.
  void demand(std::string_view key, bool wanted) {
    if (fields_.flag(key, wanted) == wanted) return;
    fields_.fault(fmt::format("'{}' {} is not supported", key, !wanted), fmt::format("{} is", wanted));
  }

  void read_activation(ConfigFields::Names names, std::string_view usual) {
    static constexpr std::array<std::pair<std::string_view, ActivationKind>, 5> kKnown{
        {{"gelu", ActivationKind::kGelu}, {"gelu_new", ActivationKind::kGeluTanh}, {"gelu_fast", ActivationKind::kGeluTanh},
         {"gelu_pytorch_tanh", ActivationKind::kGeluTanh}, {"relu", ActivationKind::kRelu}}};
    const std::string word = fields_.word(names, usual);
    for (const auto& [name, kind] : kKnown) {
      if (name == word) spec_.activation = kind;
      if (name == word) return;
    }
    fields_.fault(fmt::format("the activation '{}' is not supported", word), "gelu, gelu_new and relu are");
  }

  void read_opt() {
    read_sizes({"num_hidden_layers"}, {"hidden_size"}, {"num_attention_heads"});
    spec_.ffn = fields_.size({"ffn_dim"});
    spec_.max_positions = fields_.size({"max_position_embeddings"}, 2048);
    spec_.post_norm = !fields_.flag("do_layer_norm_before", true);
    const std::int64_t width = fields_.size({"word_embed_proj_dim"}, spec_.hidden);
    spec_.embedding_width = width == spec_.hidden ? 0 : width;
    spec_.tied_head = fields_.flag("tie_word_embeddings", true);
    read_activation({"activation_function"}, "relu");
    demand("_remove_final_layer_norm", false);
    demand("enable_bias", true);
    demand("layer_norm_elementwise_affine", true);
    note_dropout(fields_, {"dropout", "attention_dropout", "layerdrop", "activation_dropout"}, found_);
    fields_.pass_over({"init_std"});
  }

  void read_bloom() {
    read_sizes({"n_layer", "num_hidden_layers"}, {"hidden_size", "n_embed"}, {"n_head", "num_attention_heads"});
    spec_.ffn = fields_.size({"n_inner"}, 4 * spec_.hidden);
    spec_.max_positions = fields_.size({"seq_length"}, 2048);
    spec_.norm_epsilon = fields_.positive({"layer_norm_epsilon"}, 1e-5);
    spec_.tied_head = fields_.flag("tie_word_embeddings", true);
    demand("apply_residual_connection_post_layernorm", false);
    note_dropout(fields_, {"hidden_dropout", "attention_dropout"}, found_);
    fields_.pass_over({"pretraining_tp", "slow_but_exact", "offset_alibi", "masked_softmax_fusion", "skip_bias_add",
                       "skip_bias_add_qkv", "bias_dropout_fusion", "attention_softmax_in_fp32", "unk_token_id"});
  }

  void read_neox() {
    read_sizes({"num_hidden_layers"}, {"hidden_size"}, {"num_attention_heads"});
    spec_.ffn = fields_.size({"intermediate_size"});
    spec_.max_positions = fields_.size({"max_position_embeddings"});
    spec_.norm_epsilon = fields_.positive({"layer_norm_eps"}, 1e-5);
    spec_.tied_head = fields_.flag("tie_word_embeddings", false);
    spec_.parallel_block = spec_.parallel_norms = fields_.flag("use_parallel_residual", true);
    spec_.qkv_bias = spec_.projection_bias = fields_.flag("attention_bias", true);
    read_activation({"hidden_act"}, "gelu");
    const double share = fields_.positive({"rotary_pct"}, 0.25);
    const double base = fields_.positive({"rotary_emb_base"}, 10000);
    const bool stated = fields_.states("rope_theta");
    if (const auto scaling = read_rope(fields_, spec_, share)) note(*scaling, true);
    if (!stated) spec_.rope_theta = base;
    note_dropout(fields_, {"attention_dropout", "hidden_dropout"}, found_);
    fields_.pass_over({"classifier_dropout"});
  }

  void read_gptj() {
    read_sizes({"n_layer", "num_hidden_layers"}, {"n_embd", "hidden_size"}, {"n_head", "num_attention_heads"});
    spec_.ffn = fields_.size({"n_inner"}, 4 * spec_.hidden);
    spec_.max_positions = fields_.size({"n_positions", "max_position_embeddings"});
    spec_.norm_epsilon = fields_.positive({"layer_norm_epsilon"}, 1e-5);
    spec_.tied_head = fields_.flag("tie_word_embeddings", false);
    const std::int64_t rotary = fields_.size({"rotary_dim"}, spec_.head_dim);
    spec_.rotary_dim = rotary == spec_.head_dim ? 0 : rotary;
    read_activation({"activation_function"}, "gelu_new");
    demand("rotary", true);
    demand("scale_attn_weights", true);
    note_dropout(fields_, {"attn_pdrop", "embd_pdrop", "resid_pdrop"}, found_);
    fields_.pass_over({"gradient_checkpointing"});
  }

  void read_falcon() {
    read_sizes({"num_hidden_layers", "n_layer"}, {"hidden_size"}, {"num_attention_heads", "n_head"});
    spec_.ffn = fields_.size({"ffn_hidden_size"}, 4 * spec_.hidden);
    spec_.max_positions = fields_.size({"max_position_embeddings"}, 2048);
    spec_.norm_epsilon = fields_.positive({"layer_norm_epsilon"}, 1e-5);
    spec_.tied_head = fields_.flag("tie_word_embeddings", true);
    read_activation({"activation"}, "gelu");
    spec_.qkv_bias = spec_.projection_bias = spec_.mlp_bias = fields_.flag("bias", false);
    const bool grouped = fields_.flag("new_decoder_architecture", false);
    const bool one_key = fields_.flag("multi_query", true);
    const std::int64_t kv_heads = fields_.size({"num_kv_heads", "n_head_kv"}, spec_.heads);
    spec_.kv_heads = grouped ? kv_heads : one_key ? 1 : spec_.heads;
    spec_.parallel_block = grouped || fields_.flag("parallel_attn", true);
    const std::int64_t norms = fields_.size({"num_ln_in_parallel_attn"}, grouped ? 2 : 1);
    spec_.parallel_norms = spec_.parallel_block && norms == 2;
    if (fields_.flag("alibi", false)) {
      spec_.positions = PositionKind::kAlibi;
      fields_.pass_over({"rope_theta", "rope_scaling", "rope_parameters"});
    } else if (const auto scaling = read_rope(fields_, spec_, {})) {
      note(*scaling, true);
    }
    demand("apply_residual_connection_post_layernorm", false);
    note_dropout(fields_, {"hidden_dropout", "attention_dropout"}, found_);
    fields_.pass_over({"ff_factor", "parallel_attn"});
  }

  void read_mpt() {
    read_sizes({"n_layers"}, {"d_model"}, {"n_heads"});
    const json* ratio = fields_.find("expansion_ratio");
    const bool usable = ratio == nullptr || (ratio->is_number() && ratio->get<double>() > 0 && ratio->get<double>() < 1e4);
    if (!usable) fields_.fault(fmt::format("'expansion_ratio': expected a positive number, found {}", ratio->dump()));
    const double wide = ratio != nullptr && usable ? ratio->get<double>() : 4.0;
    spec_.ffn = static_cast<std::int64_t>(static_cast<double>(spec_.hidden) * wide);
    spec_.max_positions = fields_.size({"max_seq_len"}, 2048);
    spec_.norm_epsilon = fields_.positive({"layer_norm_epsilon"}, 1e-5);
    spec_.tied_head = fields_.flag("tie_word_embeddings", true);
    const bool bias = !fields_.flag("no_bias", true);
    spec_.qkv_bias = spec_.projection_bias = spec_.mlp_bias = spec_.norm_bias = bias;
    read_mpt_attention();
    const std::string norm = fields_.word({"norm_type"}, "low_precision_layernorm");
    if (norm != "low_precision_layernorm" && norm != "layernorm") fields_.fault(fmt::format("norm_type '{}' is not supported", norm), "low_precision_layernorm is");
    note_dropout(fields_, {"resid_pdrop", "emb_pdrop"}, found_);
    fields_.pass_over({"init_device", "init_config", "verbose", "embedding_fraction", "learned_pos_emb", "fc_type", "ffn_config", "logit_scale"});
  }

  void read_mpt_attention() {
    const json* object = fields_.find("attn_config");
    const json config = object != nullptr && object->is_object() ? *object : json::object();
    ConfigFields attention(config, "config.json: attn_config");
    const bool learned = fields_.flag("learned_pos_emb", true);
    const bool alibi = attention.flag("alibi", false);
    spec_.positions = alibi ? PositionKind::kAlibi : PositionKind::kLearned;
    spec_.kv_heads = attention.size({"kv_n_heads"}, spec_.heads);
    if (!alibi && !learned) fields_.fault("neither 'alibi' nor 'learned_pos_emb': a model without positions is not supported");
    for (const std::string_view key : {"qk_ln", "rope", "prefix_lm"}) {
      if (attention.flag(key, false)) fields_.fault(fmt::format("'{}' in 'attn_config' is not supported", key), "false is");
    }
    if (attention.error()) fields_.fault(attention.error()->what, attention.error()->remedy);
    if (config.contains("clip_qkv") && config["clip_qkv"].is_number()) note("'clip_qkv' is not followed", true);
  }

  void read_qwen() {
    read_sizes({"num_hidden_layers"}, {"hidden_size"}, {"num_attention_heads"});
    spec_.ffn = fields_.size({"intermediate_size"}) / 2;  // gate and up together
    spec_.max_positions = fields_.size({"max_position_embeddings", "seq_length"}, 8192);
    spec_.norm_epsilon = fields_.positive({"layer_norm_epsilon"}, 1e-6);
    spec_.rope_theta = fields_.positive({"rotary_emb_base"}, 10000);
    spec_.tied_head = fields_.flag("tie_word_embeddings", false);
    demand("no_bias", true);
    if (fields_.size({"kv_channels"}, spec_.head_dim) != spec_.head_dim) fields_.fault("'kv_channels' contradicts the hidden size and the heads");
    note_dropout(fields_, {"emb_dropout_prob", "attn_dropout_prob"}, found_);
    fields_.pass_over({"rotary_pct", "use_dynamic_ntk", "use_logn_attn", "bf16", "fp16", "fp32", "use_flash_attn", "scale_attn_weights",
                       "seq_length", "onnx_safe", "use_cache_quantization", "use_cache_kernel", "softmax_in_fp32"});
  }

  ConfigFields& fields_;
  ModelDescription& found_;
  ModelSpec& spec_;
};

}  // namespace

bool has_own_decoder_keys(Family family) {
  switch (family) {
    case Family::kOpt:
    case Family::kBloom:
    case Family::kGptNeoX:
    case Family::kGptJ:
    case Family::kFalcon:
    case Family::kMpt:
    case Family::kQwen:
    case Family::kT5: return true;
    default: return false;
  }
}

void read_decoder_config(ConfigFields& fields, ModelDescription& found) {
  if (found.spec.family == Family::kT5) return read_t5_config(fields, found);
  DecoderReader(fields, found).read();
}

}  // namespace plimsoll
