#include "formats/models/hf_t5_tensors.h"

#include <fmt/format.h>

#include "formats/models/group_lister.h"

namespace plimsoll {
namespace {

using Role = ParameterRole;

/// Queries, keys and values of one matrix, or of two.
void list_products(GroupLister& lister, const ModelSpec& spec, const std::string& prefix, Role queries, Role keys,
                   Role out) {
  const std::int64_t q = spec.attention_width(), kv = spec.kv_heads * spec.head_dim, first = queries == keys ? q : 0;
  lister.part(queries, prefix + "q.weight", 0, q);
  lister.part(keys, prefix + "k.weight", first, kv);
  lister.part(keys, prefix + "v.weight", first + kv, kv);
  lister.whole(out, prefix + "o.weight");
}

void list_feed_forward(GroupLister& lister, const ModelSpec& spec, const std::string& prefix) {
  if (is_gated(spec.activation)) {
    lister.part(Role::kFfnInWeight, prefix + "wi_0.weight", 0, spec.ffn);
    lister.part(Role::kFfnInWeight, prefix + "wi_1.weight", spec.ffn, spec.ffn);
  } else {
    lister.whole(Role::kFfnInWeight, prefix + "wi.weight");
  }
  lister.whole(Role::kFfnOutWeight, prefix + "wo.weight");
}

/// A decoder's block has a layer between the two of an encoder's.
void list_block(GroupLister lister, const ModelSpec& spec, const std::string& block, bool crosses) {
  const auto layer = [&](int index) { return fmt::format("{}layer.{}.", block, index); };
  list_products(lister, spec, layer(0) + "SelfAttention.", Role::kQkvWeight, Role::kQkvWeight, Role::kProjectionWeight);
  lister.whole(Role::kRelativeBias, layer(0) + "SelfAttention.relative_attention_bias.weight");
  lister.whole(Role::kNorm1Weight, layer(0) + "layer_norm.weight");
  if (crosses) {
    list_products(lister, spec, layer(1) + "EncDecAttention.", Role::kCrossQueryWeight, Role::kCrossKeyValueWeight,
                  Role::kCrossProjectionWeight);
    lister.whole(Role::kCrossNormWeight, layer(1) + "layer_norm.weight");
  }
  const std::string last = layer(crosses ? 2 : 1);
  list_feed_forward(lister, spec, last + "DenseReluDense.");
  lister.whole(Role::kNorm2Weight, last + "layer_norm.weight");
}

}  // namespace

std::vector<HfTensor> t5_tensors(const ModelSpec& spec, const ParameterLayout& layout) {
  std::vector<HfTensor> tensors;
  GroupLister(tensors, layout, layout.embedding()).whole(Role::kTokenEmbedding, "shared.weight");
  for (std::int64_t i = 0; i < spec.blocks(); ++i) {
    GroupLister block(tensors, layout, layout.block(i));
    const bool crosses = i >= spec.layers;
    const std::string stack = crosses ? "decoder" : "encoder";
    list_block(block, spec, fmt::format("{}.block.{}.", stack, crosses ? i - spec.layers : i), crosses);
    block.whole(Role::kEncoderNormWeight, "encoder.final_layer_norm.weight");
  }
  GroupLister head(tensors, layout, layout.head());
  head.whole(Role::kFinalNormWeight, "decoder.final_layer_norm.weight");
  head.whole(Role::kHeadWeight, "lm_head.weight");
  return tensors;
}

bool is_spare_of_t5(std::string_view name) {
  return name == "encoder.embed_tokens.weight" || name == "decoder.embed_tokens.weight" ||
         name.ends_with("EncDecAttention.relative_attention_bias.weight");
}

}  // namespace plimsoll
