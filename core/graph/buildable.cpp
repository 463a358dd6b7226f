#include "core/graph/buildable.h"

#include <fmt/format.h>

#include "core/model/foreign_feature.h"

namespace plimsoll {
namespace {

Result<void> refuse(const ModelSpec& spec, std::string_view what) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("{} {}, for which plimsoll's own step has no kernels", spec.name, what),
               .where = {},
               .remedy = spec.latent.exists() ? "--stack pytorch and megatron can tell how it would be trained"
                                              : "only --stack pytorch can tell how it would be trained"});
}

/// An encoder and a decoder as T5 has them; sizes, activation and tied or own head are free.
bool is_plain_t5(const ModelSpec& spec) {
  ModelSpec plain = family_defaults(Family::kT5);
  plain.name = spec.name;
  plain.layers = spec.layers, plain.decoder_layers = spec.decoder_layers;
  plain.hidden = spec.hidden, plain.ffn = spec.ffn;
  plain.heads = spec.heads, plain.kv_heads = spec.kv_heads, plain.head_dim = spec.head_dim;
  plain.vocabulary = spec.vocabulary, plain.max_positions = spec.max_positions;
  plain.activation = spec.activation, plain.tied_head = spec.tied_head;
  plain.norm_epsilon = spec.norm_epsilon, plain.relative_buckets = spec.relative_buckets;
  plain.other_arithmetic = spec.other_arithmetic;  // which only a run minds
  return plain == spec;
}

/// Within a sliding window attention is full; beyond it there are no kernels.
Result<void> check_window(const ModelSpec& spec, const Recipe& recipe) {
  if (!spec.slides_over(recipe.sequence)) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("sequence length {} is beyond the sliding attention window of {} tokens that blocks "
                                   "of {} have, for which plimsoll's own step has no kernels",
                                   recipe.sequence, spec.window, spec.name),
               .where = {},
               .remedy = fmt::format("use --seq {} or less; --stack pytorch knows longer ones", spec.window)});
}

}  // namespace

std::string_view unbuildable_shape(const ModelSpec& spec) {
  if (spec.is_conv_net()) return "is a convolutional net";
  if (spec.has_encoder_and_decoder() && spec.experts.count > 0)
    return "is an encoder with a decoder and a mixture of experts";
  if (spec.has_encoder_and_decoder() && !is_plain_t5(spec)) return "is an encoder with a decoder that is no T5";
  if (spec.positions == PositionKind::kRelative && !spec.has_encoder_and_decoder()) return "has relative positions";
  if (spec.embedding_width > 0) return "has token embeddings narrower than its stream";
  return foreign_feature(spec);
}

std::string_view unbuildable_training(const ModelSpec& spec, bool adapters) {
  const std::string_view shape = unbuildable_shape(spec);
  if (!shape.empty() || !adapters || spec.experts.count == 0) return shape;
  return "is a mixture of experts, which would be frozen beside adapters";
}

Result<void> check_buildable(const ModelSpec& spec, const Recipe& recipe) {
  const std::string_view what = unbuildable_training(spec, recipe.adapter.exists());
  if (!what.empty()) return refuse(spec, what);
  if (auto known = check_window(spec, recipe); !known) return known;
  const bool sums = rule_of(recipe.optimizer).whole_tensors && recipe.optimizer != OptimizerKind::kMuon;
  if (recipe.precision == Precision::kBf16 && sums) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("the optimizer {} keeps sums or codes that bf16 cannot hold", to_text(recipe.optimizer)),
                 .where = {},
                 .remedy = "use --precision bf16-mixed, another --optimizer, or --stack pytorch, whose packages keep them otherwise"});
  }
  if (recipe.optimizer != OptimizerKind::kMuon || !recipe.adapter.exists()) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = "muon orthogonalizes the hidden matrices of a model, not adapters beside them",
               .where = {},
               .remedy = "use --optimizer adamw with --lora"});
}

}  // namespace plimsoll
