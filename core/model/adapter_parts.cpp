#include "core/model/adapter_parts.h"

#include <algorithm>
#include <initializer_list>
#include <set>

namespace plimsoll {
namespace {

/// Whether `text`, a list with commas, has all of `names`.
bool lists(std::string_view text, std::initializer_list<std::string_view> names) {
  std::set<std::string_view> found;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view name = text.substr(0, comma);
    found.insert(name.substr(0, name.find("_proj")));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return std::all_of(names.begin(), names.end(), [&](std::string_view name) { return found.contains(name); });
}

}  // namespace

bool means_one_matrix(std::string_view targets, const ModelSpec& spec) {
  return fuses_qkv(spec.family) && lists(targets, {"q", "k", "v"});
}

bool fuses_qkv(Family family) {
  switch (family) {
    case Family::kGpt2:
    case Family::kBloom:
    case Family::kGptNeoX:
    case Family::kFalcon:
    case Family::kMpt:
    case Family::kPhi3:
    case Family::kQwen: return true;
    default: return false;
  }
}

std::vector<AdapterPart> adapter_parts(const ModelSpec& s) {
  using Target = AdapterTarget;
  using Role = ParameterRole;
  const std::int64_t q = s.attention_width(), kv = s.kv_heads * s.head_dim, h = s.hidden;
  std::vector<AdapterPart> parts;
  if (!takes_adapters(s)) return parts;
  if (fuses_qkv(s.family)) {
    parts.push_back({Target::kQkv, Role::kQkvWeight, 0, s.qkv_width(), h});
  } else {
    parts.push_back({Target::kQuery, Role::kQkvWeight, 0, q, h});
    parts.push_back({Target::kKey, Role::kQkvWeight, q, kv, h});
    parts.push_back({Target::kValue, Role::kQkvWeight, q + kv, kv, h});
  }
  parts.push_back({Target::kOutput, Role::kProjectionWeight, 0, h, q});
  if (s.experts.count > 0) return parts;  // as PEFT does where nobody names more
  const bool gate_apart = is_gated(s.activation) && s.family != Family::kPhi3;
  if (gate_apart) parts.push_back({Target::kGate, Role::kFfnInWeight, 0, s.ffn, h});
  const std::int64_t first = gate_apart ? s.ffn : 0;
  parts.push_back({Target::kUp, Role::kFfnInWeight, first, s.ffn_in_width() - first, h});
  parts.push_back({Target::kDown, Role::kFfnOutWeight, 0, h, s.ffn});
  return parts;
}

}  // namespace plimsoll
