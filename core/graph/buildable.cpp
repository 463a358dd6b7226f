#include "core/graph/buildable.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

Result<void> refuse(const ModelSpec& spec, std::string_view what) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("{} {}, for which plimsoll's own step has no kernels", spec.name, what),
               .where = {},
               .remedy = "only --stack pytorch can tell how it would be trained"});
}

}  // namespace

Result<void> check_buildable(const ModelSpec& spec, const Recipe& recipe) {
  if (spec.is_conv_net()) return refuse(spec, "is a convolutional net");
  if (spec.has_encoder_and_decoder()) return refuse(spec, "is an encoder with a decoder");
  if (spec.positions == PositionKind::kRelative) return refuse(spec, "has relative positions");
  if (spec.embedding_width > 0) return refuse(spec, "has token embeddings narrower than its stream");
  if (recipe.optimizer != OptimizerKind::kMuon || !recipe.adapter.exists()) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = "muon orthogonalizes the hidden matrices of a model, not adapters beside them",
               .where = {},
               .remedy = "use --optimizer adamw with --lora"});
}

}  // namespace plimsoll
