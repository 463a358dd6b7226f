#include "formats/models/shape_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/nearest_names.h"
#include "formats/models/conv_words.h"
#include "formats/models/shape_features.h"
#include "formats/models/shape_keys.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMaxText = 4096;
constexpr std::int64_t kMaxValue = std::int64_t{1} << 24;  // the bound that validate() has for every size

std::vector<std::string> all_keys() {
  std::vector<std::string> keys;
  for (const SizeKey& key : kSizeKeys) keys.emplace_back(key.name);
  for (const RopeKey& key : kRopeKeys) keys.emplace_back(key.name);
  for (const LatentKey& key : kLatentKeys) keys.emplace_back(key.name);
  for (const ImageKey& key : kImageKeys) keys.emplace_back(key.name);
  for (const ExpertSizeKey& key : kExpertSizeKeys) keys.emplace_back(key.name);
  for (const ExpertFlagKey& key : kExpertFlagKeys) keys.emplace_back(key.name);
  for (const ExpertRealKey& key : kExpertRealKeys) keys.emplace_back(key.name);
  keys.insert(keys.end(), {"cutoffs", "divisor", "gating", "epsilon", "rope_theta", "local_theta", "rope_scaling"});
  for (const auto& more : {feature_keys(), conv_keys()}) keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

tl::unexpected<Error> bad(std::string_view text, std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::string(text), .remedy = std::move(remedy)});
}

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

Result<void> set_real(double& field, std::string_view text, std::string_view key, std::string_view value) {
  const auto number = parse_whole<double>(value);
  if (!number || !std::isfinite(*number) || *number <= 0) {
    return bad(text, fmt::format("{}={} is not a positive number", key, value));
  }
  field = *number;
  return {};
}

Result<void> set_rope_scaling(ModelSpec& spec, std::string_view text, std::string_view key, std::string_view value) {
  if (spec.positions != PositionKind::kRope) return bad(text, fmt::format("{} needs a family with rotary positions", key));
  for (const auto& [name, field] : kRopeKeys) {
    if (name == key) return set_real(spec.rope_scaling.*field, text, key, value);
  }
  if (key != "rope_scaling") return bad(text, fmt::format("unknown key '{}'", key), did_you_mean(key, all_keys()));
  for (const RopeScalingKind kind : {RopeScalingKind::kNone, RopeScalingKind::kLinear, RopeScalingKind::kLlama3}) {
    if (to_text(kind) == value) spec.rope_scaling.kind = kind;
    if (to_text(kind) == value) return {};
  }
  return bad(text, fmt::format("rope_scaling={} is none of none, linear and llama3", value));
}

Result<void> set_whole(std::int64_t& field, std::string_view text, std::string_view key, std::string_view value) {
  const auto number = parse_whole<std::int64_t>(value);
  if (!number || *number <= 0 || *number > kMaxValue) {
    return bad(text, fmt::format("{}={} is not a whole number from 1 to {}", key, value, kMaxValue));
  }
  field = *number;
  return {};
}

Result<void> set_cutoffs(AdaptiveVocabulary& adaptive, std::string_view text, std::string_view value) {
  adaptive.cutoffs.clear();
  while (true) {
    const std::size_t dash = value.find('-');
    std::int64_t cutoff = 0;
    if (auto done = set_whole(cutoff, text, "cutoffs", value.substr(0, dash)); !done) return done;
    adaptive.cutoffs.push_back(cutoff);
    if (dash == std::string_view::npos) return {};
    value.remove_prefix(dash + 1);
  }
}

bool is_expert_key(std::string_view key) {
  return key == "gating" || std::ranges::find(kExpertSizeKeys, key, &ExpertSizeKey::name) != std::end(kExpertSizeKeys) ||
         std::ranges::find(kExpertFlagKeys, key, &ExpertFlagKey::name) != std::end(kExpertFlagKeys) ||
         std::ranges::find(kExpertRealKeys, key, &ExpertRealKey::name) != std::end(kExpertRealKeys);
}

/// `gating` was read before the other keys: it decides what they are when they are not given.
Result<void> set_expert_field(ExpertSpec& experts, std::string_view text, std::string_view key, std::string_view value) {
  for (const auto& [name, field] : kExpertSizeKeys) {
    if (name == key) return set_whole(experts.*field, text, key, value);
  }
  for (const auto& [name, field] : kExpertFlagKeys) {
    if (name != key) continue;
    if (value != "true" && value != "false") return bad(text, fmt::format("{}={} is neither true nor false", key, value));
    experts.*field = value == "true";
    return {};
  }
  for (const auto& [name, field] : kExpertRealKeys) {
    if (name != key) continue;
    const auto number = parse_whole<double>(value);
    if (!number || !std::isfinite(*number) || *number < 0) {
      return bad(text, fmt::format("{}={} is negative or no number", key, value));
    }
    experts.*field = *number;
  }
  return {};
}

Result<void> set_gating(ModelSpec& spec, std::string_view text, std::string_view value) {
  const std::int64_t count = spec.experts.count;
  const auto gating = parse_gating(value);
  if (!gating) return bad(text, fmt::format("gating={} is none of topk, switch, gshard and noisy", value));
  spec.experts = gating_defaults(*gating);
  spec.experts.count = count;
  return {};
}

Result<void> set_field(ModelSpec& spec, std::string_view text, std::string_view key, std::string_view value) {
  if (spec.is_conv_net()) {
    if (auto done = set_conv_field(spec.conv, text, key, value)) return *done;
    const bool of_image = key == "classes" || std::ranges::find(kImageKeys, key, &ImageKey::name) != std::end(kImageKeys);
    if (!of_image || key == "patch") return bad(text, fmt::format("unknown key '{}'", key), did_you_mean(key, conv_keys()));
  }
  for (const auto& [name, field] : kSizeKeys) {
    if (name == key) return set_whole(spec.*field, text, key, value);
  }
  for (const auto& [name, field] : kImageKeys) {
    if (name == key && spec.reads_images()) return set_whole(spec.image.*field, text, key, value);
  }
  for (const auto& [name, field] : kLatentKeys) {
    if (name == key && spec.latent.exists()) return set_whole(spec.latent.*field, text, key, value);
  }
  if (key == "cutoffs") return set_cutoffs(spec.adaptive, text, value);
  if (key == "divisor") return set_whole(spec.adaptive.divisor, text, key, value);
  if (is_expert_key(key)) return set_expert_field(spec.experts, text, key, value);
  if (key.starts_with("rope_") && key != "rope_theta") return set_rope_scaling(spec, text, key, value);
  if (key == "epsilon") return set_real(spec.norm_epsilon, text, key, value);
  if (key == "rope_theta" && spec.positions == PositionKind::kRope) return set_real(spec.rope_theta, text, key, value);
  if (key == "local_theta") return set_real(spec.local_rope_theta, text, key, value);
  if (key == "rope_theta") return bad(text, "rope_theta needs a family with rotary positions");
  if (is_feature_key(key)) return set_feature(spec, text, key, value);
  return bad(text, fmt::format("unknown key '{}'", key), did_you_mean(key, all_keys()));
}

/// The value of `key` in pairs that may be malformed; empty when it is not there.
std::string_view value_of(std::string_view pairs, std::string_view key) {
  while (!pairs.empty()) {
    const std::string_view pair = pairs.substr(0, pairs.find(','));
    pairs.remove_prefix(std::min(pair.size() + 1, pairs.size()));
    if (pair.starts_with(key) && pair.substr(key.size()).starts_with('=')) return pair.substr(key.size() + 1);
  }
  return {};
}

Result<void> set_pairs(ModelSpec& spec, std::string_view text, std::string_view pairs) {
  const std::string_view gating = value_of(pairs, "gating");
  const bool unstated = gating.empty() && spec.experts.per_token == 0 && !value_of(pairs, "experts").empty();
  if (unstated || !gating.empty()) {
    if (auto known = set_gating(spec, text, unstated ? "topk" : gating); !known) return known;
  }
  if (const std::string_view position = value_of(pairs, "position"); !position.empty() && !spec.is_conv_net()) {
    if (auto known = set_feature(spec, text, "position", position); !known) return known;  // others depend on it
  }
  std::set<std::string_view> seen;
  while (!pairs.empty()) {
    const std::size_t comma = std::min(pairs.find(','), pairs.size());
    const std::string_view pair = pairs.substr(0, comma);
    pairs.remove_prefix(std::min(comma + 1, pairs.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return bad(text, fmt::format("'{}' is not of the form key=value", pair));
    if (!seen.insert(pair.substr(0, equals)).second) {
      return bad(text, fmt::format("the key '{}' is given twice", pair.substr(0, equals)));
    }
    if (auto done = set_field(spec, text, pair.substr(0, equals), pair.substr(equals + 1)); !done) return done;
  }
  return {};
}

/// Keys of experts say nothing without their number.
Result<void> check_experts(const ModelSpec& spec, std::string_view text, std::string_view pairs) {
  if (spec.experts.count > 0 || spec.is_conv_net()) return {};
  std::vector<std::string_view> keys{"gating"};
  for (const ExpertSizeKey& key : kExpertSizeKeys) keys.push_back(key.name);
  for (const ExpertFlagKey& key : kExpertFlagKeys) keys.push_back(key.name);
  for (const ExpertRealKey& key : kExpertRealKeys) keys.push_back(key.name);
  for (const std::string_view key : keys) {
    if (value_of(pairs, key).empty()) continue;
    return bad(text, fmt::format("the key '{}' needs a number of experts", key), "add experts=8");
  }
  return {};
}

Result<void> fill_head_dim(ModelSpec& spec, std::string_view text) {
  if (spec.head_dim != 0) return {};
  if (spec.hidden % spec.heads != 0) {
    return bad(text, fmt::format("hidden={} is not a multiple of heads={}", spec.hidden, spec.heads), "state head_dim");
  }
  spec.head_dim = spec.hidden / spec.heads;
  return {};
}

void fill_latent(ModelSpec& spec) {
  if (!spec.latent.exists()) return;
  spec.kv_heads = spec.heads;
  spec.head_dim = spec.latent.key_dim();
  spec.rotary_dim = spec.latent.rope_dim;
}

/// Classes ask for another head than the family's; a ViT's tokens are its image's patches.
void fill_encoder(ModelSpec& spec) {
  if (spec.family == Family::kVit) spec.max_positions = spec.image.patches() + 1;
  if (spec.family == Family::kBert && spec.max_positions == 0) spec.max_positions = 512;
  if (!spec.causal && spec.classes > 0) spec = with_classes(std::move(spec), spec.classes);
}

/// Rotated elements of a head where its family's models rotate a share of them (GPT-J: 64 of 256).
std::int64_t usual_rotary_dim(const ModelSpec& spec) {
  switch (spec.family) {
    case Family::kPhi: return spec.head_dim / 2;
    case Family::kGptNeoX:
    case Family::kStableLm:
    case Family::kGptJ: return spec.head_dim / 4;
    default: return 0;
  }
}

std::int64_t usual_ffn(const ModelSpec& spec) {
  const bool rounded = is_gated(spec.activation) && spec.family != Family::kPalm && spec.family != Family::kT5;
  return rounded ? (8 * spec.hidden / 3 + 255) / 256 * 256 : 4 * spec.hidden;
}

std::int64_t usual_positions(const ModelSpec& spec) {
  if (spec.family == Family::kT5) return 512;
  return spec.family == Family::kGpt2 ? 1024 : 2048;
}

Result<void> fill_in(ModelSpec& spec, std::string_view text) {
  if (spec.is_conv_net()) {
    fill_conv_net(spec);
    return {};
  }
  fill_encoder(spec);
  for (const SizeKey& key : {kSizeKeys[0], kSizeKeys[1], kSizeKeys[2], kSizeKeys[3]}) {
    if (key.field == &ModelSpec::vocabulary && spec.reads_images()) continue;
    if (spec.*key.field == 0) return bad(text, fmt::format("the key '{}' is missing", key.name));
  }
  if (spec.ffn == 0) spec.ffn = usual_ffn(spec);
  if (spec.max_positions == 0) spec.max_positions = usual_positions(spec);
  if (spec.family == Family::kT5 && spec.decoder_layers == 0) spec.decoder_layers = spec.layers;
  if (spec.kv_heads == 0) spec.kv_heads = spec.heads;
  fill_latent(spec);
  const bool gemma = spec.family == Family::kGemma || spec.family == Family::kGemma2 || spec.family == Family::kGemma3;
  if (gemma) spec.embedding_scale = std::sqrt(static_cast<double>(spec.hidden));
  if (auto filled = fill_head_dim(spec, text); !filled) return filled;
  if (spec.positions == PositionKind::kRope && spec.rotary_dim == 0) spec.rotary_dim = usual_rotary_dim(spec);
  return {};
}

std::optional<Family> parse_family(std::string_view word) {
  const auto* const found = std::ranges::find(kFamilies, word, &FamilyWord::word);
  return found == std::end(kFamilies) ? std::nullopt : std::optional(found->family);
}

std::vector<std::string> family_words() {
  std::vector<std::string> words;
  for (const FamilyWord& family : kFamilies) words.emplace_back(family.word);
  for (const std::string& word : conv_words()) words.push_back(word);
  return words;
}

}  // namespace

bool looks_like_shape_words(std::string_view text) {
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && text.find('=', colon) != std::string_view::npos &&
         text.substr(0, colon).find_first_of("/\\.") == std::string_view::npos;
}

Result<ModelSpec> parse_shape_words(std::string_view text) {
  if (text.size() > kMaxText) return bad(text.substr(0, 40), fmt::format("a shape of {} characters", text.size()));
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return bad(text, "expected a family and a colon, as in gpt:layers=12,…");
  const std::string_view word = text.substr(0, colon);
  const auto conv = parse_conv_word(word);
  const auto family = conv ? std::optional(Family::kConvNet) : parse_family(word);
  if (!family) return bad(text, fmt::format("unknown model family '{}'", word), did_you_mean(word, family_words()));
  ModelSpec spec = family_defaults(*family);
  spec.name = text;
  if (conv) spec.conv.kind = *conv;
  if (auto done = set_pairs(spec, text, text.substr(colon + 1)); !done) return fail(done.error());
  if (auto done = check_experts(spec, text, text.substr(colon + 1)); !done) return fail(done.error());
  if (auto done = fill_in(spec, text); !done) return fail(done.error());
  if (auto done = validate(spec); !done) return fail(done.error());
  return spec;
}

}  // namespace plimsoll
