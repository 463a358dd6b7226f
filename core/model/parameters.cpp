#include "core/model/parameters.h"

#include <algorithm>
#include <utility>

#include "core/model/adapter_parts.h"
#include "core/model/conv_layers.h"

namespace plimsoll {
namespace {

using Role = ParameterRole;

void add(ParameterGroup& group, Role role, std::int64_t rows, std::int64_t columns) {
  const bool is_embedding = role == Role::kTokenEmbedding || role == Role::kPositionEmbedding ||
                            role == Role::kTokenTypeEmbedding || role == Role::kClassToken;
  const bool decays = rows > 1 || is_embedding;
  group.tensors.push_back({.role = role, .rows = rows, .columns = columns, .decays = decays});
}

/// Orders decaying tensors first and assigns offsets.
ParameterGroup finish(ParameterGroup group) {
  std::stable_partition(group.tensors.begin(), group.tensors.end(), [](const auto& t) { return t.decays; });
  for (ParameterTensor& tensor : group.tensors) {
    tensor.offset = group.elements;
    group.elements += tensor.elements();
    if (tensor.decays) group.decaying_elements += tensor.elements();
  }
  return group;
}

void add_norm(ParameterGroup& group, const ModelSpec& spec, Role weight, Role bias) {
  if (!spec.norm_weight) return;
  add(group, weight, 1, spec.hidden);
  if (spec.norm == NormKind::kLayerNorm && spec.norm_bias) add(group, bias, 1, spec.hidden);
}

void add_linear(ParameterGroup& group, Role weight, Role bias, std::int64_t outputs, std::int64_t inputs, bool has_bias) {
  add(group, weight, outputs, inputs);
  if (has_bias) add(group, bias, 1, outputs);
}

void add_feed_forward(ParameterGroup& group, const ModelSpec& spec) {
  add_linear(group, Role::kFfnInWeight, Role::kFfnInBias, spec.ffn_in_width(), spec.hidden, spec.mlp_bias);
  add_linear(group, Role::kFfnOutWeight, Role::kFfnOutBias, spec.hidden, spec.ffn, spec.mlp_bias);
}

void add_experts(ParameterGroup& group, const ModelSpec& spec) {
  const std::int64_t count = spec.experts.count, held = spec.experts.held();
  add_linear(group, Role::kRouterWeight, Role::kRouterBias, count, spec.hidden, spec.experts.router_bias);
  if (spec.experts.gating == GatingKind::kNoisy) add(group, Role::kRouterNoiseWeight, count, spec.hidden);
  add_linear(group, Role::kExpertInWeight, Role::kExpertInBias, held * spec.expert_in_width(), spec.hidden, spec.mlp_bias);
  add_linear(group, Role::kExpertOutWeight, Role::kExpertOutBias, held * spec.hidden, spec.expert_width(), spec.mlp_bias);
  for (ParameterTensor& tensor : group.tensors) {
    if (tensor.role == Role::kExpertInWeight || tensor.role == Role::kExpertOutWeight) tensor.matrices = held;
  }
  if (spec.experts.shared_width == 0) return;
  const std::int64_t shared = spec.experts.shared_width;
  add(group, Role::kSharedInWeight, is_gated(spec.activation) ? 2 * shared : shared, spec.hidden);
  add(group, Role::kSharedOutWeight, spec.hidden, shared);
  if (spec.experts.shared_gate) add(group, Role::kSharedGateWeight, 1, spec.hidden);
}

/// Queries, keys and values through narrow vectors; no family of them has biases.
void add_latent_attention(ParameterGroup& group, const ModelSpec& spec) {
  const LatentAttention& latent = spec.latent;
  const std::int64_t h = spec.hidden, queries = spec.heads * latent.key_dim();
  if (latent.q_rank > 0) {
    add(group, Role::kLatentQueryDownWeight, latent.q_rank, h);
    add(group, Role::kLatentQueryNormWeight, 1, latent.q_rank);
  }
  add(group, Role::kLatentQueryWeight, queries, latent.q_rank > 0 ? latent.q_rank : h);
  add(group, Role::kLatentDownWeight, latent.kv_rank + latent.rope_dim, h);
  add(group, Role::kLatentNormWeight, 1, latent.kv_rank);
  add(group, Role::kLatentKeyValueWeight, spec.heads * (latent.plain_dim + latent.value_dim), latent.kv_rank);
  add(group, Role::kProjectionWeight, h, spec.heads * latent.value_dim);
}

void add_attention(ParameterGroup& group, const ModelSpec& spec) {
  if (spec.latent.exists()) return add_latent_attention(group, spec);
  add_linear(group, Role::kQkvWeight, Role::kQkvBias, spec.qkv_width(), spec.hidden, spec.qkv_bias);
  if (spec.qk_norm && spec.family != Family::kLlama4) {  // whose norms of heads have no weights
    add(group, Role::kQueryNormWeight, 1, spec.wide_qk_norm ? spec.attention_width() : spec.head_dim);
    add(group, Role::kKeyNormWeight, 1, spec.wide_qk_norm ? spec.kv_heads * spec.head_dim : spec.head_dim);
  }
  if (spec.sinks) add(group, Role::kSinks, 1, spec.heads);
  if (spec.positions == PositionKind::kDistance) add(group, Role::kDistanceKeyWeight, spec.attention_width(), spec.hidden);
  add_linear(group, Role::kProjectionWeight, Role::kProjectionBias, spec.hidden, spec.attention_width(), spec.projection_bias);
}

/// Attention over what the encoder made; no family of them has biases.
void add_cross_attention(ParameterGroup& group, const ModelSpec& spec) {
  const std::int64_t q = spec.attention_width(), h = spec.hidden;
  add(group, Role::kCrossNormWeight, 1, h);
  add(group, Role::kCrossQueryWeight, q, h);
  add(group, Role::kCrossKeyValueWeight, 2 * spec.kv_heads * spec.head_dim, h);
  add(group, Role::kCrossProjectionWeight, h, q);
}

bool begins_stack(const ModelSpec& spec, std::int64_t layer) { return layer == 0 || layer == spec.layers; }

ParameterGroup block_group(const ModelSpec& spec, std::int64_t layer) {
  ParameterGroup group{.name = "block " + std::to_string(layer), .block = layer, .tensors = {}};
  const std::int64_t h = spec.hidden;
  if (spec.norms_before()) add_norm(group, spec, Role::kNorm1Weight, Role::kNorm1Bias);
  add_attention(group, spec);
  if (spec.norms_behind()) add(group, Role::kNorm1BehindWeight, 1, h);
  if (spec.positions == PositionKind::kRelative && begins_stack(spec, layer)) {
    add(group, Role::kRelativeBias, spec.relative_buckets, spec.heads);
  }
  if (layer >= spec.layers) add_cross_attention(group, spec);
  const bool second = !spec.parallel_block || spec.parallel_norms;
  if (second && spec.norms_before()) add_norm(group, spec, Role::kNorm2Weight, Role::kNorm2Bias);
  if (spec.has_experts(layer)) {
    add_experts(group, spec);
  } else {
    add_feed_forward(group, spec);
  }
  if (spec.norms_behind()) add(group, Role::kNorm2BehindWeight, 1, h);
  if (spec.has_encoder_and_decoder() && layer + 1 == spec.layers) add(group, Role::kEncoderNormWeight, 1, h);
  return finish(std::move(group));
}

/// Both matrices decay, as all matrices do.
ParameterGroup adapter_group(const ModelSpec& spec, const AdapterSpec& adapter, std::int64_t layer) {
  ParameterGroup group{.name = "adapters of block " + std::to_string(layer), .block = layer, .tensors = {}};
  const auto add_matrix = [&](Role role, AdapterTarget target, std::int64_t rows, std::int64_t columns) {
    group.tensors.push_back({.role = role, .rows = rows, .columns = columns, .decays = true, .target = target});
  };
  for (const AdapterPart& part : adapter_parts(spec)) {
    if (!adapter.has(part.target)) continue;
    add_matrix(Role::kAdapterA, part.target, adapter.rank, part.inputs);
    add_matrix(Role::kAdapterB, part.target, part.outputs, adapter.rank);
  }
  return finish(std::move(group));
}

/// Embeddings, norms and biases stay as compute reads them.
void freeze(ParameterGroup& group, BaseStorage base) {
  group.frozen = true;
  for (ParameterTensor& tensor : group.tensors) {
    if (group.block >= 0 && tensor.decays) tensor.storage = base;
  }
}

ParameterGroup embedding_group(const ModelSpec& spec) {
  ParameterGroup group{.name = "embedding", .block = -1, .tensors = {}};
  if (spec.reads_images()) {
    add(group, Role::kClassToken, 1, spec.hidden);
    add_linear(group, Role::kPatchWeight, Role::kPatchBias, spec.hidden, spec.image.patch_width(), true);
  } else if (spec.adaptive.projects()) {
    for (const WordCluster& cluster : word_clusters(spec.adaptive, spec.vocabulary, spec.hidden)) {
      add(group, Role::kTokenEmbedding, cluster.words, cluster.width);
      add(group, Role::kEmbeddingInWeight, spec.hidden, cluster.width);
    }
  } else {
    add(group, Role::kTokenEmbedding, spec.vocabulary, spec.token_width());
    if (spec.embedding_width > 0) add(group, Role::kEmbeddingInWeight, spec.hidden, spec.embedding_width);
  }
  if (spec.positions == PositionKind::kLearned) add(group, Role::kPositionEmbedding, spec.position_rows(), spec.hidden);
  if (spec.token_types > 0) add(group, Role::kTokenTypeEmbedding, spec.token_types, spec.hidden);
  if (spec.embedding_norm) add_norm(group, spec, Role::kEmbeddingNormWeight, Role::kEmbeddingNormBias);
  return finish(std::move(group));
}

/// What blocks share of attention by distance, and the head's part of an adaptive vocabulary: rows that stand for the clusters,
/// and a projection of the first cluster's own, where the others take the embeddings'.
void add_distance_head(ParameterGroup& group, const ModelSpec& spec) {
  add(group, Role::kContentBias, spec.heads, spec.head_dim);
  add(group, Role::kDistanceBias, spec.heads, spec.head_dim);
  if (!spec.adaptive.exists()) return;
  const auto further = static_cast<std::int64_t>(spec.adaptive.cutoffs.size());
  add_linear(group, Role::kClusterWeight, Role::kClusterBias, further, spec.hidden, true);
  if (spec.adaptive.projects()) add(group, Role::kEmbeddingOutWeight, spec.hidden, spec.hidden);
}

ParameterGroup head_group(const ModelSpec& spec) {
  ParameterGroup group{.name = "head", .block = -1, .tensors = {}};
  if (!spec.post_norm) add_norm(group, spec, Role::kFinalNormWeight, Role::kFinalNormBias);
  if (spec.head == HeadKind::kMaskedToken) {
    add_linear(group, Role::kTransformWeight, Role::kTransformBias, spec.hidden, spec.hidden, true);
    add_norm(group, spec, Role::kTransformNormWeight, Role::kTransformNormBias);
  }
  if (spec.pooler) add_linear(group, Role::kPoolerWeight, Role::kPoolerBias, spec.hidden, spec.hidden, true);
  if (spec.embedding_width > 0) add(group, Role::kEmbeddingOutWeight, spec.embedding_width, spec.hidden);
  if (!spec.tied_head) add(group, Role::kHeadWeight, spec.outputs(), spec.token_width());
  if (spec.head_bias) add(group, Role::kHeadBias, 1, spec.outputs());
  if (spec.positions == PositionKind::kDistance) add_distance_head(group, spec);
  return finish(std::move(group));
}

void add_conv_layer(ParameterGroup& group, const ConvLayer& layer) {
  switch (layer.kind) {
    case ConvLayerKind::kConvolution:
      add_linear(group, Role::kConvWeight, Role::kConvBias, layer.outputs, layer.inputs_per_output(), layer.bias);
      break;
    case ConvLayerKind::kLinear:
      add_linear(group, Role::kHeadWeight, Role::kHeadBias, layer.outputs, layer.inputs_per_output(), layer.bias);
      break;
    case ConvLayerKind::kBatchNorm:
      add(group, Role::kBatchNormWeight, 1, layer.outputs);
      add(group, Role::kBatchNormBias, 1, layer.outputs);
      break;
    default: break;  // which learns nothing
  }
}

/// The stem is the embedding, the classifier (with what stands before it and behind the last block) the head.
ParameterLayout conv_layout(const ModelSpec& spec) {
  ParameterLayout layout;
  layout.groups.push_back({.name = "embedding", .block = -1, .tensors = {}});
  for (std::int64_t block = 0; block < spec.layers; ++block) {
    layout.groups.push_back({.name = "block " + std::to_string(block), .block = block, .tensors = {}});
  }
  layout.groups.push_back({.name = "head", .block = -1, .tensors = {}});
  for (const ConvLayer& layer : conv_layers(spec).layers) {
    const bool stem = layer.block == ConvLayer::kStem, head = layer.block == ConvLayer::kHead;
    add_conv_layer(stem ? layout.groups.front() : head ? layout.groups.back() : layout.groups[static_cast<std::size_t>(layer.block + 1)], layer);
  }
  for (ParameterGroup& group : layout.groups) group = finish(std::move(group));
  return layout;
}

}  // namespace

const ParameterTensor* ParameterGroup::find(ParameterRole role) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.role == role; });
  return found == tensors.end() ? nullptr : &*found;
}

const ParameterTensor* ParameterGroup::find(ParameterRole role, AdapterTarget target) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.role == role && t.target == target; });
  return found == tensors.end() ? nullptr : &*found;
}

std::int64_t ParameterLayout::elements() const {
  std::int64_t sum = 0;
  for (const ParameterGroup& group : groups) sum += group.elements;
  return sum;
}

std::int64_t ParameterLayout::trained_elements() const {
  std::int64_t sum = 0;
  for (const ParameterGroup& group : groups) sum += group.frozen ? 0 : group.elements;
  return sum;
}

ParameterLayout lay_out_parameters(const ModelSpec& spec) {
  if (spec.is_conv_net()) return conv_layout(spec);
  ParameterLayout layout;
  layout.groups.push_back(embedding_group(spec));
  for (std::int64_t layer = 0; layer < spec.blocks(); ++layer) layout.groups.push_back(block_group(spec, layer));
  layout.groups.push_back(head_group(spec));
  return layout;
}

ParameterLayout lay_out_parameters(const ModelSpec& spec, const AdapterSpec& adapter) {
  ParameterLayout layout = lay_out_parameters(spec);
  if (!adapter.exists()) return layout;
  for (ParameterGroup& group : layout.groups) freeze(group, adapter.base);
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) layout.groups.push_back(adapter_group(spec, adapter, layer));
  layout.adapters = spec.layers;
  return layout;
}

std::int64_t parameter_count(const ModelSpec& spec) { return lay_out_parameters(spec).elements(); }

std::int64_t active_parameter_count(const ModelSpec& spec) {
  std::int64_t active = 0;
  for (const ParameterGroup& group : lay_out_parameters(spec).groups) {
    for (const ParameterTensor& tensor : group.tensors) {
      const bool of_experts = tensor.role == Role::kExpertInWeight || tensor.role == Role::kExpertInBias ||
                              tensor.role == Role::kExpertOutWeight || tensor.role == Role::kExpertOutBias;
      active += of_experts ? tensor.elements() / spec.experts.count * spec.experts.per_token : tensor.elements();
    }
  }
  return active;
}

}  // namespace plimsoll
