#include "core/inference/inference_graph.h"

#include <fmt/format.h>

#include "core/graph/logit_columns.h"
#include "core/graph/logits_graph.h"

namespace plimsoll {
namespace {

Result<void> refuse(const ModelSpec& spec, std::string_view what) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("{} {}; inference is known of decoders that write the next token", spec.name, what),
               .where = {},
               .remedy = "choose a decoder: plimsoll models lists them"});
}

Recipe recipe_of(const InferencePass& pass) {
  Recipe recipe;
  recipe.precision = pass.precision;
  recipe.micro_batch = pass.sequences;
  recipe.sequence = pass.new_tokens;
  return recipe;
}

/// Behind cached tokens latent attention meets their narrow vectors themselves, which are keys and, less their rotated
/// part, values of all heads (what makes keys and values of them joins queries and results instead, which is as many
/// products). Keys that are as wide as half of them, each with a value, are as many bytes; heads of that width come to
/// as many products.
void meet_narrow_keys(OpShape& shape, const LatentAttention& latent) {
  const std::int64_t key = latent.kv_rank + latent.rope_dim;
  shape.heads = (shape.heads * (key + latent.kv_rank) + key - 1) / key;
  shape.kv_heads = 1;
  shape.head_dim = key / 2;
}

/// Attention reads what is cached; only each sequence's last token is projected to the vocabulary, or every one.
void fit_to_pass(Op& op, Graph& graph, const InferencePass& pass) {
  if (op.kind == OpKind::kAttention) {
    op.shape.positions = pass.cached;
    op.shape.inputs = graph.spec.has_window(op.block) ? graph.spec.window : 0;
    if (graph.spec.latent.exists() && pass.cached > 0) meet_narrow_keys(op.shape, graph.spec.latent);
  }
  if (op.kind != OpKind::kLinear || op.block >= 0 || op.shape.outputs != logit_columns(graph.spec)) return;
  if (pass.all_logits) return;
  op.shape.rows = pass.sequences;
  for (const Operand& operand : op.operands) {
    if (writes(operand.access)) graph.tensors[operand.tensor.index].elements = pass.sequences * logit_columns(graph.spec);
  }
}

}  // namespace

Result<void> check_writes_tokens(const ModelSpec& spec) {
  if (spec.is_conv_net()) return refuse(spec, "is a convolutional net");
  if (spec.has_encoder_and_decoder()) return refuse(spec, "is an encoder with a decoder");
  if (!spec.causal || spec.head != HeadKind::kNextToken) return refuse(spec, "is an encoder");
  if (spec.positions == PositionKind::kRelative) return refuse(spec, "has relative positions");
  if (spec.positions == PositionKind::kDistance) return refuse(spec, "has positions by distance and a memory of the segment before");
  if (spec.embedding_width > 0) return refuse(spec, "has token embeddings narrower than its stream");
  return {};
}

Graph build_inference_graph(const ModelSpec& spec, const InferencePass& pass) {
  Graph graph = build_logits_graph(spec, recipe_of(pass), 0);
  for (Op& op : graph.ops) fit_to_pass(op, graph, pass);
  return graph;
}

}  // namespace plimsoll
