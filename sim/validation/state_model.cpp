#include <fmt/format.h>

#include <utility>

#include "core/base/nearest_names.h"
#include "formats/models/shape_words.h"
#include "sim/validation/state_row.h"

namespace plimsoll {
namespace {

/// A column of the row, or the tables' word for it, and the field that it decides.
struct SizeField {
  std::string_view key;
  std::int64_t ModelSpec::* field;
};

constexpr SizeField kSizes[] = {{"layers", &ModelSpec::layers},     {"hidden", &ModelSpec::hidden},
                                {"heads", &ModelSpec::heads},       {"kv_heads", &ModelSpec::kv_heads},
                                {"ffn", &ModelSpec::ffn},           {"vocab", &ModelSpec::vocabulary},
                                {"rotary_dim", &ModelSpec::rotary_dim}};

/// Facts of a mixture, and the words that say them of a shape.
constexpr std::pair<std::string_view, std::string_view> kExpertWords[] = {
    {"experts", "experts"}, {"experts_per_token", "top-k"},      {"expert_ffn", "expert_ffn"}, {"shared_ffn", "shared_ffn"},
    {"gating", "gating"},   {"expert_capacity", "capacity"}, {"router_loss", "router_loss"}};

constexpr std::pair<std::string_view, std::int64_t LatentAttention::*> kLatentSizes[] = {{"q_rank", &LatentAttention::q_rank},
                                                                                        {"kv_rank", &LatentAttention::kv_rank},
                                                                                        {"plain_dim", &LatentAttention::plain_dim},
                                                                                        {"rope_dim", &LatentAttention::rope_dim},
                                                                                        {"value_dim", &LatentAttention::value_dim}};

const ZooModel* find_model(const RowLexicon& lexicon, std::string_view name) {
  const std::string key = name_key(name);
  for (const ZooModel& model : lexicon.zoo) {
    if (name_key(model.name) == key) return &model;
    for (const std::string& alias : model.aliases) {
      if (name_key(alias) == key) return &model;
    }
  }
  return nullptr;
}

/// "shape:gpt" and the sizes of the row's columns, as words.
ModelSpec shaped(RowFacts& facts, std::string_view family) {
  std::string words = fmt::format("{}:", family);
  for (const SizeField& size : kSizes) {
    const auto value = facts.whole(size.key, size.key);
    if (value) words += fmt::format("{}{}={}", words.back() == ':' ? "" : ",", size.key, *value);
  }
  for (const auto& [key, word] : kExpertWords) {
    if (!facts.fact(key).empty()) words += fmt::format(",{}={}", word, facts.fact(key));
  }
  const auto positions = facts.fact("positions").empty() ? facts.whole("seq", "sequence") : facts.whole_fact("positions");
  if (positions) words += fmt::format(",positions={}", *positions);
  for (const std::string_view feature : {"position", "activation", "norm", "qk_norm"}) {
    if (!facts.fact(feature).empty()) words += fmt::format(",{}={}", feature, facts.fact(feature));
  }
  if (!facts.fact("tied").empty()) words += fmt::format(",tied={}", facts.fact("tied"));
  if (facts.is_refused()) return {};
  const auto spec = parse_shape_words(words);
  if (!spec) facts.refuse("incomplete shape", spec.error().what);
  return spec ? *spec : ModelSpec{};
}

/// The row's own sizes win over those of the model that its name means; heads then share the width evenly.
void take_sizes(RowFacts& facts, ModelSpec& spec) {
  const ModelSpec named = spec;
  for (const SizeField& size : kSizes) {
    if (const auto value = facts.whole(size.key, size.key)) spec.*size.field = *value;
  }
  if (spec.heads == named.heads && spec.hidden == named.hidden) return;
  if (named.kv_heads == named.heads) spec.kv_heads = facts.whole("kv_heads", "kv_heads").value_or(spec.heads);
  spec.head_dim = spec.hidden / spec.heads;
  if (spec.hidden % spec.heads != 0) {
    facts.refuse("contradictory shape", fmt::format("{} heads do not divide {}", spec.heads, spec.hidden));
  }
}

/// Latent attention has no biases.
void take_latent(RowFacts& facts, ModelSpec& spec) {
  for (const auto& [key, field] : kLatentSizes) {
    if (const auto value = facts.whole_fact(key)) spec.latent.*field = *value;
  }
  if (spec.latent.exists()) spec.qkv_bias = spec.projection_bias = false;
}

void take_switches(RowFacts& facts, ModelSpec& spec) {
  if (!facts.fact("bias").empty()) {
    spec.qkv_bias = spec.projection_bias = spec.mlp_bias = facts.is_true("bias");
  }
  take_latent(facts, spec);
  if (!facts.fact("tied").empty()) spec.tied_head = facts.is_true("tied");
  if (const auto classes = facts.whole_fact("classes"); classes && !spec.causal) spec = with_classes(spec, *classes);
  if (const auto image = facts.whole_fact("image"); image && spec.reads_images()) {
    spec.image.size = *image;
    spec.max_positions = spec.image.patches() + 1;
  }
  const auto sequence = facts.whole("seq", "sequence");
  if (sequence && spec.positions == PositionKind::kRope && spec.max_positions < *sequence) spec.max_positions = *sequence;
}

}  // namespace

ModelSpec state_model(RowFacts& facts, const RowLexicon& lexicon) {
  const std::string_view named = facts.fact("model").empty() ? facts.row().field("model") : facts.fact("model");
  constexpr std::string_view kShape = "shape:";
  ModelSpec spec;
  if (named.starts_with(kShape)) {
    spec = shaped(facts, named.substr(kShape.size()));
  } else if (looks_like_shape_words(named)) {
    const auto words = parse_shape_words(named);
    if (!words) facts.refuse("incomplete shape", words.error().what);
    if (words) spec = *words;
  } else if (const ZooModel* model = find_model(lexicon, named)) {
    spec = model->spec;
    take_sizes(facts, spec);
  } else {
    facts.refuse("unknown model", named);
  }
  if (facts.is_refused()) return {};
  take_switches(facts, spec);
  if (const auto sound = validate(spec); !sound) facts.refuse("contradictory shape", sound.error().what);
  return spec;
}

}  // namespace plimsoll
