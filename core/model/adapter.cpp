#include "core/model/adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "core/model/adapter_parts.h"

namespace plimsoll {
namespace {

using Target = AdapterTarget;

constexpr std::array<std::pair<Target, std::string_view>, 8> kNames{{{Target::kQkv, "qkv"},
                                                                     {Target::kQuery, "q"},
                                                                     {Target::kKey, "k"},
                                                                     {Target::kValue, "v"},
                                                                     {Target::kOutput, "o"},
                                                                     {Target::kGate, "gate"},
                                                                     {Target::kUp, "up"},
                                                                     {Target::kDown, "down"}}};

tl::unexpected<Error> bad(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// What checkpoints of `spec`'s family call the same matrices.
std::vector<Target> targets_called(std::string_view name, const ModelSpec& spec) {
  if (name == "all" || name == "all-linear") return adapter_targets(spec);
  for (const auto& [target, known] : kNames) {
    if (known == name) return {target};
  }
  if (spec.family == Family::kGpt2) {
    if (name == "c_attn") return {Target::kQkv};
    if (name == "c_proj") return {Target::kOutput, Target::kDown};
    if (name == "c_fc") return {Target::kUp};
    return {};
  }
  if (name == "query_key_value" || name == "Wqkv" || name == "qkv_proj" || name == "c_attn") return {Target::kQkv};
  if (name == "dense_h_to_4h") return {Target::kUp};
  if (name == "dense_4h_to_h") return {Target::kDown};
  if (name == "gate_up_proj") return {Target::kUp};
  if (name == "dense" || name == "o_proj" || name == "out_proj") return {Target::kOutput};
  if (name == "fc1" || name == "fc_in") return {Target::kUp};
  if (name == "fc2" || name == "fc_out") return {Target::kDown};
  const auto suffix = name.find("_proj");
  return suffix == std::string_view::npos ? std::vector<Target>{} : targets_called(name.substr(0, suffix), spec);
}

}  // namespace

bool AdapterSpec::has(AdapterTarget target) const { return std::find(targets.begin(), targets.end(), target) != targets.end(); }

Result<void> takes_adapters(const ModelSpec& spec) {
  if (spec.latent.exists()) return bad("adapters beside latent attention are not supported", "leave --lora out");
  if (spec.head != HeadKind::kNextToken || spec.has_encoder_and_decoder()) return bad("adapters beside an encoder are not supported", "leave --lora out");
  return {};
}

std::vector<AdapterTarget> adapter_targets(const ModelSpec& spec) {
  std::vector<Target> targets;
  for (const AdapterPart& part : adapter_parts(spec)) targets.push_back(part.target);
  return targets;
}

namespace {

bool is_part(const std::vector<Target>& named) {
  return named.size() == 1 && (named[0] == Target::kQuery || named[0] == Target::kKey || named[0] == Target::kValue);
}

}  // namespace

Result<std::vector<AdapterTarget>> parse_adapter_targets(std::string_view text, const ModelSpec& spec) {
  if (const auto takes = takes_adapters(spec); !takes) return fail(takes.error());
  const std::vector<Target> known = adapter_targets(spec);
  const bool one = means_one_matrix(text, spec);
  std::set<Target> wanted;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    std::vector<Target> named = targets_called(name, spec);
    if (one && is_part(named)) named = {Target::kQkv};
    const bool all_there = !named.empty() && std::all_of(named.begin(), named.end(), [&](Target target) {
      return std::find(known.begin(), known.end(), target) != known.end();
    });
    if (!all_there) {
      return fail({.kind = ErrorKind::kUnknownName,
                   .what = fmt::format("{} has no matrix '{}' for an adapter", spec.name, name),
                   .where = {},
                   .remedy = fmt::format("its targets are {}, or all", to_text(known))});
    }
    wanted.insert(named.begin(), named.end());
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return std::vector<Target>(wanted.begin(), wanted.end());
}

Result<void> validate(const AdapterSpec& adapter, const ModelSpec& spec) {
  if (adapter.rank < 0) return bad("an adapter's rank must be positive", "--lora 16");
  if (!adapter.exists()) return {};
  if (const auto takes = takes_adapters(spec); !takes) return takes;
  if (adapter.targets.empty()) return bad("an adapter needs a matrix to stand beside", "--lora 16:all");
  if (!(adapter.alpha > 0) || !std::isfinite(adapter.alpha)) {
    return bad(fmt::format("--lora-alpha must be positive, not {}", adapter.alpha), "twice the rank is usual");
  }
  for (const AdapterPart& part : adapter_parts(spec)) {
    if (!adapter.has(part.target) || adapter.rank <= std::min(part.inputs, part.outputs)) continue;
    return bad(
        fmt::format("rank {} is above that of the matrix itself: '{}' of {} is {} x {}", adapter.rank, to_text(part.target),
                    spec.name, part.outputs, part.inputs),
        fmt::format("use --lora {} or less, or leave '{}' out", std::min(part.inputs, part.outputs), to_text(part.target)));
  }
  return {};
}

std::string_view to_text(AdapterTarget target) {
  for (const auto& [known, name] : kNames) {
    if (known == target) return name;
  }
  return "?";
}

std::string to_text(const std::vector<AdapterTarget>& targets) {
  std::string text;
  for (const Target target : targets) text += fmt::format("{}{}", text.empty() ? "" : ",", to_text(target));
  return text;
}

}  // namespace plimsoll
