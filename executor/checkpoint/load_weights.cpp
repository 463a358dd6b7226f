#include "executor/checkpoint/load_weights.h"

#include <fmt/format.h>

#include "core/base/differing_words.h"
#include "core/model/stored_group.h"
#include "executor/checkpoint/weight_source.h"
#include "formats/models/hf_config.h"

namespace plimsoll {
namespace {

/// What the model's data decide is no difference of weights, and a new head is none either.
ModelSpec comparable(ModelSpec theirs, const ModelSpec& ours, HeadWeights head) {
  theirs.mask_token = ours.mask_token;
  theirs.image.mean = ours.image.mean;
  theirs.image.deviation = ours.image.deviation;
  return head == HeadWeights::kMayBeNew ? with_classes(std::move(theirs), ours.classes) : theirs;
}

}  // namespace

Result<void> load_weights(const std::filesystem::path& path, const ModelSpec& spec, Precision precision,
                          const WriteState& state) {
  return load_weights(path, spec, Recipe{.precision = precision}, state);
}

Result<void> load_weights(const std::filesystem::path& path, const ModelSpec& spec, const Recipe& recipe,
                          const WriteState& state, HeadWeights head) {
  const auto source = WeightSource::open(path, spec, head);
  if (!source) return fail(source.error());
  const ParameterLayout layout = lay_out_parameters(spec, recipe.adapter);
  const bool narrow = size_of(state_dtype(recipe.precision)) == 2;  // rounded tensor by tensor
  Result<void> read;
  for (std::uint32_t g = 0; g <= layout.head().index && read; ++g) {
    const ParameterGroup& group = layout.groups[g];
    const bool no_master = narrow || (group.frozen && has_master_copy(recipe.precision));
    const bool as_computed = is_encoded(group) || no_master;
    state(TensorKind::kParameter, GroupId(g), [&](std::span<std::byte> place) {
      read = as_computed ? source->read_stored(GroupId(g), group, compute_dtype(recipe.precision), place)
                               : source->read_group(GroupId(g), state_dtype(recipe.precision), place);
    });
  }
  return read;
}

Result<void> check_weights(const std::filesystem::path& path, const ModelSpec& spec, HeadWeights head) {
  const auto source = WeightSource::open(path, spec, head);
  if (!source) return fail(source.error());
  const std::filesystem::path config = source->checkpoint().path().parent_path() / kConfigName;
  if (!std::filesystem::exists(config)) return {};
  const auto theirs = read_hf_config(config);
  if (!theirs) return fail(theirs.error());
  const std::string different = differing_words(canonical_text(comparable(theirs->spec, spec, head)), canonical_text(spec));
  if (different.empty()) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("the weights are another model's: their config.json has {}", different),
               .where = path.string(),
               .remedy = fmt::format("train {} as it is, or take config.json away", config.parent_path().string())});
}

}  // namespace plimsoll
