#include "sim/stack/preference_setup.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "formats/text/csv.h"

namespace plimsoll {
namespace {

constexpr std::array<std::pair<PreferenceMethod, std::string_view>, 4> kMethods{
    {{PreferenceMethod::kNone, "sft"}, {PreferenceMethod::kDpo, "dpo"}, {PreferenceMethod::kKto, "kto"}, {PreferenceMethod::kGrpo, "grpo"}}};
constexpr std::array<std::pair<ReferencePass, std::string_view>, 4> kReferences{{{ReferencePass::kCopy, "copy"},
                                                                               {ReferencePass::kAdaptersOff, "adapters-off"},
                                                                               {ReferencePass::kPrecomputed, "precomputed"},
                                                                               {ReferencePass::kNone, "none"}}};

template <typename Table, typename Value>
std::string_view name_in(const Table& table, Value value) {
  for (const auto& [known, name] : table) {
    if (known == value) return name;
  }
  return "?";
}

template <typename Table>
auto value_in(const Table& table, std::string_view text, const char* option) -> Result<typename Table::value_type::first_type> {
  std::string all;
  for (const auto& [value, name] : table) {
    if (name == text) return value;
    all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
  }
  return fail({.kind = ErrorKind::kInput, .what = fmt::format("'{}' is nothing that is modelled", text), .where = option, .remedy = "choose one of " + all});
}

}  // namespace

ReferencePass reference_of(const PreferenceSetup& setup, bool has_adapter) {
  if (setup.writes()) return setup.reference.value_or(ReferencePass::kNone);
  return setup.reference.value_or(has_adapter ? ReferencePass::kAdaptersOff : ReferencePass::kCopy);
}

Result<void> parse_rollout(std::string_view text, PreferenceSetup& setup) {
  constexpr std::string_view kVllm = "vllm";
  const std::string_view name = text.substr(0, text.find(':'));
  const auto share = name.size() < text.size() ? parse_number(text.substr(name.size() + 1)) : std::optional(kVllmShare);
  if (text == "transformers") return setup.rollout = Rollout::kTransformers, Result<void>{};
  if (text == "elsewhere") return setup.rollout = Rollout::kElsewhere, Result<void>{};
  if (name != kVllm || !share || *share <= 0 || *share >= 1) {
    return fail({.kind = ErrorKind::kInput, .what = fmt::format("'{}' is nobody who writes answers", text), .where = "--rollout",
                 .remedy = "choose transformers, vllm:0.3 (a share of the GPU's memory) or elsewhere"});
  }
  setup.rollout = Rollout::kVllm;
  setup.vllm_share = *share;
  return {};
}

std::string_view to_text(PreferenceMethod method) { return name_in(kMethods, method); }
std::string_view to_text(ReferencePass reference) { return name_in(kReferences, reference); }
Result<PreferenceMethod> parse_preference_method(std::string_view text) { return value_in(kMethods, text, "--workload"); }
Result<ReferencePass> parse_reference_pass(std::string_view text) { return value_in(kReferences, text, "--reference"); }

}  // namespace plimsoll
