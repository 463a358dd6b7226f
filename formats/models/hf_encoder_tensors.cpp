#include "formats/models/hf_encoder_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/models/group_lister.h"

namespace plimsoll {
namespace {

using Role = ParameterRole;

struct NamedPair {
  Role weight, bias;
  std::string_view name;
};

void list_pairs(GroupLister& lister, const std::string& prefix, std::initializer_list<NamedPair> pairs) {
  for (const auto& [weight, bias, name] : pairs) {
    lister.whole(weight, fmt::format("{}{}.weight", prefix, name));
    lister.whole(bias, fmt::format("{}{}.bias", prefix, name));
  }
}

void list_attention(GroupLister& lister, const ModelSpec& spec, const std::string& prefix) {
  const std::int64_t width = spec.attention_width();
  std::int64_t first = 0;
  for (const std::string_view name : {"query", "key", "value"}) {
    lister.part(Role::kQkvWeight, fmt::format("{}{}.weight", prefix, name), first, width);
    lister.part(Role::kQkvBias, fmt::format("{}{}.bias", prefix, name), first, width);
    first += width;
  }
}

void list_bert_block(GroupLister lister, const ModelSpec& spec, const std::string& prefix) {
  list_attention(lister, spec, prefix + "attention.self.");
  list_pairs(lister, prefix,
             {{Role::kProjectionWeight, Role::kProjectionBias, "attention.output.dense"},
              {Role::kNorm1Weight, Role::kNorm1Bias, "attention.output.LayerNorm"},
              {Role::kFfnInWeight, Role::kFfnInBias, "intermediate.dense"},
              {Role::kFfnOutWeight, Role::kFfnOutBias, "output.dense"},
              {Role::kNorm2Weight, Role::kNorm2Bias, "output.LayerNorm"}});
}

void list_vit_block(GroupLister lister, const ModelSpec& spec, const std::string& prefix) {
  list_attention(lister, spec, prefix + "attention.attention.");
  list_pairs(lister, prefix,
             {{Role::kNorm1Weight, Role::kNorm1Bias, "layernorm_before"},
              {Role::kProjectionWeight, Role::kProjectionBias, "attention.output.dense"},
              {Role::kNorm2Weight, Role::kNorm2Bias, "layernorm_after"},
              {Role::kFfnInWeight, Role::kFfnInBias, "intermediate.dense"},
              {Role::kFfnOutWeight, Role::kFfnOutBias, "output.dense"}});
}

void list_bert_embedding(GroupLister lister) {
  const std::string prefix = "bert.embeddings.";
  lister.whole(Role::kTokenEmbedding, prefix + "word_embeddings.weight");
  lister.whole(Role::kPositionEmbedding, prefix + "position_embeddings.weight");
  lister.whole(Role::kTokenTypeEmbedding, prefix + "token_type_embeddings.weight");
  list_pairs(lister, prefix, {{Role::kEmbeddingNormWeight, Role::kEmbeddingNormBias, "LayerNorm"}});
}

void list_vit_embedding(GroupLister lister, const ModelSpec& spec) {
  const ImageInput& image = spec.image;
  const std::string prefix = "vit.embeddings.";
  lister.shaped(Role::kClassToken, prefix + "cls_token", {1, 1, spec.hidden});
  lister.shaped(Role::kPositionEmbedding, prefix + "position_embeddings", {1, spec.max_positions, spec.hidden});
  lister.shaped(Role::kPatchWeight, prefix + "patch_embeddings.projection.weight",
                {spec.hidden, image.channels, image.patch, image.patch});
  lister.whole(Role::kPatchBias, prefix + "patch_embeddings.projection.bias");
}

void list_head(GroupLister lister, const ModelSpec& spec) {
  if (spec.head == HeadKind::kMaskedToken) {
    list_pairs(lister, "cls.predictions.transform.",
               {{Role::kTransformWeight, Role::kTransformBias, "dense"},
                {Role::kTransformNormWeight, Role::kTransformNormBias, "LayerNorm"}});
    lister.whole(Role::kHeadWeight, "cls.predictions.decoder.weight");
    lister.whole(Role::kHeadBias, "cls.predictions.bias");
    return;
  }
  list_pairs(lister, "",
             {{Role::kFinalNormWeight, Role::kFinalNormBias, "vit.layernorm"},
              {Role::kPoolerWeight, Role::kPoolerBias, "bert.pooler.dense"},
              {Role::kHeadWeight, Role::kHeadBias, "classifier"}});
}

}  // namespace

std::vector<HfTensor> encoder_tensors(const ModelSpec& spec, const ParameterLayout& layout) {
  std::vector<HfTensor> tensors;
  const bool vit = spec.family == Family::kVit;
  const GroupLister embedding(tensors, layout, layout.embedding());
  if (vit) list_vit_embedding(embedding, spec);
  if (!vit) list_bert_embedding(embedding);
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const GroupLister block(tensors, layout, layout.block(layer));
    const std::string prefix = fmt::format("{}.encoder.layer.{}.", to_text(spec.family), layer);
    if (vit) list_vit_block(block, spec, prefix);
    if (!vit) list_bert_block(block, spec, prefix);
  }
  list_head(GroupLister(tensors, layout, layout.head()), spec);
  return tensors;
}

bool is_spare_of_encoder(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"cls.", "bert.pooler.", "vit.pooler.", "pooler."};
  const bool of_head = std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
  return of_head || name.ends_with("embeddings.position_ids");
}

}  // namespace plimsoll
