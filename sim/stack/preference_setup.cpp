#include "sim/stack/preference_setup.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

namespace plimsoll {
namespace {

constexpr std::array<std::pair<PreferenceMethod, std::string_view>, 3> kMethods{
    {{PreferenceMethod::kNone, "sft"}, {PreferenceMethod::kDpo, "dpo"}, {PreferenceMethod::kKto, "kto"}}};
constexpr std::array<std::pair<ReferencePass, std::string_view>, 3> kReferences{
    {{ReferencePass::kCopy, "copy"}, {ReferencePass::kAdaptersOff, "adapters-off"}, {ReferencePass::kPrecomputed, "precomputed"}}};

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
  return setup.reference.value_or(has_adapter ? ReferencePass::kAdaptersOff : ReferencePass::kCopy);
}

std::string_view to_text(PreferenceMethod method) { return name_in(kMethods, method); }
std::string_view to_text(ReferencePass reference) { return name_in(kReferences, reference); }
Result<PreferenceMethod> parse_preference_method(std::string_view text) { return value_in(kMethods, text, "--workload"); }
Result<ReferencePass> parse_reference_pass(std::string_view text) { return value_in(kReferences, text, "--reference"); }

}  // namespace plimsoll
