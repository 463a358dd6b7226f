#include "formats/models/hf_starcoder_config.h"

#include <fmt/format.h>

#include "formats/models/hf_dropout.h"
#include "formats/models/hf_rope.h"

namespace plimsoll {
namespace {

void read_sizes(ConfigFields& fields, ModelSpec& spec) {
  spec.vocabulary = fields.size({"vocab_size"});
  spec.layers = fields.size({"num_hidden_layers"});
  spec.hidden = fields.size({"hidden_size"});
  spec.ffn = fields.size({"intermediate_size"});
  spec.heads = fields.size({"num_attention_heads"});
  spec.kv_heads = fields.size({"num_key_value_heads"}, 2);
  spec.max_positions = fields.size({"max_position_embeddings"});
  spec.head_dim = fields.size({"head_dim"}, spec.hidden / spec.heads > 0 ? spec.hidden / spec.heads : 1);
  if (!fields.states("head_dim") && spec.hidden % spec.heads != 0) {
    fields.fault(fmt::format("the hidden size {} is not a multiple of {} heads", spec.hidden, spec.heads));
  }
}

void read_choices(ConfigFields& fields, ModelSpec& spec) {
  spec.norm_epsilon = fields.positive({"norm_epsilon"}, 1e-5);
  spec.tied_head = fields.flag("tie_word_embeddings", true);
  spec.qkv_bias = spec.projection_bias = spec.mlp_bias = fields.flag("use_bias", true);
  const std::string activation = fields.word({"hidden_act"}, "gelu_pytorch_tanh");
  const bool tanh = activation == "gelu_pytorch_tanh" || activation == "gelu_new";
  if (!tanh && activation != "gelu") {
    fields.fault(fmt::format("the activation '{}' is not supported", activation), "gelu_pytorch_tanh and gelu are");
  }
  spec.activation = tanh ? ActivationKind::kGeluTanh : ActivationKind::kGelu;
  const std::string norm = fields.word({"norm_type"}, "layer_norm");
  if (norm != "layer_norm") fields.fault(fmt::format("norm_type '{}' is not supported", norm), "layer_norm is");
  const bool windowed = fields.find("sliding_window") != nullptr;
  const std::int64_t window = windowed ? fields.size({"sliding_window"}) : 0;
  if (window < spec.max_positions) spec.window = window;
  fields.pass_over({"mlp_type"});
}

}  // namespace

void read_starcoder_config(ConfigFields& fields, ModelDescription& found) {
  read_sizes(fields, found.spec);
  read_choices(fields, found.spec);
  if (const auto scaling = read_rope(fields, found.spec, {})) {
    found.notes.push_back({.text = *scaling, .changes_numbers = true});
  }
  note_dropout(fields, {"attention_dropout", "residual_dropout", "embedding_dropout"}, found);
}

}  // namespace plimsoll
