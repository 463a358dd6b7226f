#include "core/graph/embedding_layer.h"

namespace plimsoll {
namespace {

using Role = ParameterRole;
constexpr Access kR = Access::kRead;
constexpr Access kW = Access::kWrite;
constexpr WeightAndBias kNorm{Role::kEmbeddingNormWeight, Role::kEmbeddingNormBias};
constexpr WeightAndBias kPatch{Role::kPatchWeight, Role::kPatchBias};

OpShape embedding_shape(const LayerWriter& write) {
  const ModelSpec& spec = write.spec();
  return {.rows = write.rows(),
          .inputs = spec.hidden,
          .outputs = spec.vocabulary,
          .sequence = write.sequence(),
          .positions = spec.positions == PositionKind::kLearned ? spec.max_positions : 0,
          .variant = static_cast<std::uint8_t>(spec.token_types),
          .constant = spec.embedding_scale == 1 ? 0 : spec.embedding_scale};
}

OpShape class_token_shape(const LayerWriter& write) {
  return {.rows = write.rows(), .inputs = write.spec().hidden, .sequence = write.recipe().sequence,
          .positions = write.spec().max_positions};
}

LayerWriter of_patches(LayerWriter& write) {
  return write.of_rows(write.recipe().micro_batch * write.spec().image.patches());
}

/// Segments are told apart only where there is a table for them.
TensorId extents_of(const LayerWriter& write) { return write.spec().token_types > 0 ? write.batch().extents : TensorId(); }

TensorId embed_tokens(LayerWriter& write, GroupId g) {
  const TensorId y = write.activation(write.spec().hidden, "embedding output");
  write.build().add(OpKind::kEmbedding, embedding_shape(write),
                    {{write.batch().tokens, kR}, {write.weight(g, Role::kTokenEmbedding), kR},
                     {write.weight(g, Role::kPositionEmbedding), kR}, {extents_of(write), kR},
                     {write.weight(g, Role::kTokenTypeEmbedding), kR}, {y, kW}});
  return y;
}

TensorId embed_patches(LayerWriter& write, GroupId g) {
  const ModelSpec& spec = write.spec();
  const TensorId embedded =
      of_patches(write).linear(g, kPatch, write.batch().patches, spec.image.patch_width(), spec.hidden, "patch embedding");
  const TensorId y = write.activation(spec.hidden, "embedding output");
  write.build().add(OpKind::kClassToken, class_token_shape(write),
                    {{embedded, kR}, {write.weight(g, Role::kClassToken), kR}, {write.weight(g, Role::kPositionEmbedding), kR},
                     {y, kW}});
  return y;
}

void embed_patches_backward(LayerWriter& write, GroupId g, TensorId dy) {
  LayerWriter patches = of_patches(write);
  const ModelSpec& spec = write.spec();
  const TensorId d_embedded = patches.gradient(spec.hidden, "patch embedding gradient");
  write.build().add(OpKind::kClassTokenBackward, class_token_shape(write),
                    {{dy, kR}, {d_embedded, kW}, {write.weight_gradient(g, Role::kClassToken), kW},
                     {write.weight_gradient(g, Role::kPositionEmbedding), kW}});
  write.build().add(OpKind::kLinearBackwardWeight, patches.linear_shape(spec.image.patch_width(), spec.hidden),
                    {{d_embedded, kR}, {write.batch().patches, kR}, {write.weight_gradient(g, Role::kPatchWeight), kW},
                     {write.weight_gradient(g, Role::kPatchBias), kW}});
}

}  // namespace

TensorId embedding_forward(LayerWriter& write, SavedEmbedding& saved) {
  const GroupId g = write.parameters().embedding();
  const TensorId sum = write.spec().reads_images() ? embed_patches(write, g) : embed_tokens(write, g);
  if (!write.spec().embedding_norm) return sum;
  saved.sum = sum;
  return write.norm(g, kNorm, sum, saved.statistics, "embedding norm");
}

void embedding_backward(LayerWriter& write, TensorId d_stream, Access d_table, const SavedEmbedding& saved) {
  const GroupId g = write.parameters().embedding();
  if (write.parameters().at(g).frozen) return;
  TensorId dy = d_stream;
  if (write.spec().embedding_norm) {
    dy = write.gradient(write.spec().hidden, "embedding gradient");
    write.norm_backward(g, kNorm, d_stream, saved.sum, saved.statistics, dy, kW);
  }
  if (write.spec().reads_images()) {
    embed_patches_backward(write, g, dy);
  } else {
    token_gradients(write, dy, d_table);
  }
  write.accumulate(g);
}

void token_gradients(LayerWriter& write, TensorId dy, Access d_table) {
  const GroupId g = write.parameters().embedding();
  write.build().add(OpKind::kEmbeddingBackward, embedding_shape(write),
                    {{write.batch().tokens, kR},
                     {dy, kR},
                     {extents_of(write), kR},
                     {write.weight_gradient(g, Role::kTokenEmbedding), d_table},
                     {write.weight_gradient(g, Role::kPositionEmbedding), kW},
                     {write.weight_gradient(g, Role::kTokenTypeEmbedding), kW}});
}

}  // namespace plimsoll
