#include "formats/models/shape_features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace plimsoll {
namespace {

struct Flag {
  std::string_view name;
  bool ModelSpec::* field;
};

constexpr Flag kFlags[] = {{"tied", &ModelSpec::tied_head},
                           {"qkv_bias", &ModelSpec::qkv_bias},
                           {"projection_bias", &ModelSpec::projection_bias},
                           {"mlp_bias", &ModelSpec::mlp_bias},
                           {"norm_bias", &ModelSpec::norm_bias},
                           {"head_bias", &ModelSpec::head_bias},
                           {"qk_norm", &ModelSpec::qk_norm},
                           {"parallel", &ModelSpec::parallel_block},
                           {"parallel_norms", &ModelSpec::parallel_norms},
                           {"post_norm", &ModelSpec::post_norm},
                           {"embedding_norm", &ModelSpec::embedding_norm},
                           {"norm_weight", &ModelSpec::norm_weight},
                           {"wide_qk_norm", &ModelSpec::wide_qk_norm},
                           {"other_arithmetic", &ModelSpec::other_arithmetic},
                           {"rope_interleaved", &ModelSpec::rope_interleaved}};

/// Of everything in a block.
constexpr std::string_view kAllBiases = "bias";

constexpr std::string_view kChoices[] = {"position", "activation", "norm"};

tl::unexpected<Error> bad(std::string_view text, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::string(text), .remedy = std::move(remedy)});
}

template <typename Kind>
Result<void> choose(Kind& field, std::initializer_list<Kind> kinds, std::string_view text, std::string_view key, std::string_view value) {
  std::vector<std::string_view> names;
  for (const Kind kind : kinds) {
    names.push_back(to_text(kind));
    if (names.back() == value) field = kind;
    if (names.back() == value) return {};
  }
  return bad(text, fmt::format("{}={} is unknown", key, value), fmt::format("choose one of {}", fmt::join(names, ", ")));
}

}  // namespace

bool is_feature_key(std::string_view key) {
  return key == kAllBiases || std::ranges::find(kFlags, key, &Flag::name) != std::end(kFlags) || std::ranges::find(kChoices, key) != std::end(kChoices);
}

Result<void> set_feature(ModelSpec& spec, std::string_view text, std::string_view key, std::string_view value) {
  if (key == "position") {
    return choose(spec.positions, {PositionKind::kLearned, PositionKind::kRope, PositionKind::kAlibi}, text, key, value);
  }
  if (key == "norm") return choose(spec.norm, {NormKind::kLayerNorm, NormKind::kRmsNorm}, text, key, value);
  if (key == "activation") {
    return choose(spec.activation, {ActivationKind::kGelu, ActivationKind::kGeluTanh, ActivationKind::kRelu, ActivationKind::kSquaredRelu,
                                    ActivationKind::kSwiGlu, ActivationKind::kGeGluTanh},
                  text, key, value);
  }
  if (value != "true" && value != "false") return bad(text, fmt::format("{}={} is neither true nor false", key, value), {});
  if (key == kAllBiases) {
    spec.qkv_bias = spec.projection_bias = spec.mlp_bias = spec.norm_bias = value == "true";
    return {};
  }
  const Flag* flag = std::ranges::find(kFlags, key, &Flag::name);
  spec.*flag->field = value == "true";
  return {};
}

std::vector<std::string> feature_keys() {
  std::vector<std::string> keys(std::begin(kChoices), std::end(kChoices));
  keys.emplace_back(kAllBiases);
  for (const Flag& flag : kFlags) keys.emplace_back(flag.name);
  return keys;
}

}  // namespace plimsoll
