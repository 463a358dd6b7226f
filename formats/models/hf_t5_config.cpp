#include "formats/models/hf_t5_config.h"

#include <fmt/format.h>

#include "core/model/distance_bucket.h"
#include "formats/models/hf_dropout.h"

namespace plimsoll {
namespace {

void read_feed_forward(ConfigFields& fields, ModelSpec& spec) {
  const std::string kind = fields.word({"feed_forward_proj"}, "relu");
  if (kind == "relu") return;
  if (kind != "gated-gelu" && kind != "gated-gelu_new") {
    return fields.fault(fmt::format("feed_forward_proj '{}' is not supported", kind), "relu and gated-gelu are");
  }
  spec.activation = ActivationKind::kGeGluTanh;
}

void read_mixture(ConfigFields& fields, ModelSpec& spec) {
  if (fields.find("num_experts") == nullptr) return;
  spec.experts = gating_defaults(GatingKind::kSwitch);
  spec.experts.count = fields.size({"num_experts"});
  const std::int64_t sparse = fields.size({"num_sparse_encoder_layers"}, 3);
  const std::int64_t of_decoder = fields.size({"num_sparse_decoder_layers"}, 3);
  if (spec.layers % sparse != 0 || of_decoder != sparse || spec.decoder_layers != spec.layers) {
    return fields.fault("'num_sparse_encoder_layers' and 'num_sparse_decoder_layers' must be equal and divide the layers");
  }
  spec.experts.every = spec.layers / sparse;
  fields.pass_over({"expert_capacity", "router_bias", "router_dtype", "router_ignore_padding_tokens", "router_jitter_noise",
                    "router_type", "router_z_loss_coef", "router_aux_loss_coef", "add_router_probs", "output_router_logits",
                    "encoder_sparse_step", "decoder_sparse_step", "batch_prioritized_routing", "num_selected_experts"});
}

void read_farthest(ConfigFields& fields, ModelDescription& found) {
  const std::int64_t farthest = fields.size({"relative_attention_max_distance"}, kFarthestDistance);
  if (farthest == kFarthestDistance) return;
  found.spec.other_arithmetic = true;
  found.notes.push_back(
      {.text = fmt::format("'relative_attention_max_distance' {} is not followed: buckets of distances end at {}",
                           farthest, kFarthestDistance),
       .changes_numbers = true});
}

}  // namespace

nlohmann::ordered_json t5_config(const ModelSpec& spec) {
  return {{"architectures", {"T5ForConditionalGeneration"}},
          {"model_type", "t5"},
          {"is_encoder_decoder", true},
          {"vocab_size", spec.vocabulary},
          {"n_positions", spec.max_positions},
          {"d_model", spec.hidden},
          {"d_kv", spec.head_dim},
          {"d_ff", spec.ffn},
          {"num_layers", spec.layers},
          {"num_decoder_layers", spec.decoder_layers},
          {"num_heads", spec.heads},
          {"relative_attention_num_buckets", spec.relative_buckets},
          {"relative_attention_max_distance", kFarthestDistance},
          {"feed_forward_proj", is_gated(spec.activation) ? "gated-gelu" : "relu"},
          {"layer_norm_epsilon", spec.norm_epsilon},
          {"tie_word_embeddings", spec.tied_head},
          {"decoder_start_token_id", 0},
          {"dropout_rate", 0.0}};
}

void read_t5_config(ConfigFields& fields, ModelDescription& found) {
  ModelSpec& spec = found.spec;
  spec.vocabulary = fields.size({"vocab_size"});
  spec.layers = fields.size({"num_layers"});
  spec.decoder_layers = fields.size({"num_decoder_layers"}, spec.layers);
  spec.hidden = fields.size({"d_model"});
  spec.heads = spec.kv_heads = fields.size({"num_heads"});
  spec.head_dim = fields.size({"d_kv"});
  spec.ffn = fields.size({"d_ff"});
  spec.relative_buckets = fields.size({"relative_attention_num_buckets"}, 32);
  spec.max_positions = fields.size({"n_positions"}, 512);
  spec.norm_epsilon = fields.positive({"layer_norm_epsilon"}, 1e-6);
  const bool tied = fields.flag("tie_word_embeddings", true);
  spec.tied_head =
      fields.flag("scale_decoder_outputs", tied) && tied;  // newer files say "tied" whatever their tensors are
  read_feed_forward(fields, spec);
  read_mixture(fields, spec);
  read_farthest(fields, found);
  fields.pass_over({"initializer_factor", "decoder_start_token_id", "is_gated_act", "dense_act_fn",
                    "classifier_dropout", "is_encoder_decoder"});
  note_dropout(fields, {"dropout_rate"}, found);
}

}  // namespace plimsoll
