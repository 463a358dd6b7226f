#include "core/model/adapter_parts.h"

namespace plimsoll {

std::vector<AdapterPart> adapter_parts(const ModelSpec& s) {
  using Target = AdapterTarget;
  using Role = ParameterRole;
  const std::int64_t q = s.attention_width(), kv = s.kv_heads * s.head_dim, h = s.hidden;
  std::vector<AdapterPart> parts;
  if (!takes_adapters(s)) return parts;
  if (s.family == Family::kGpt2) {
    parts.push_back({Target::kQkv, Role::kQkvWeight, 0, s.qkv_width(), h});
  } else {
    parts.push_back({Target::kQuery, Role::kQkvWeight, 0, q, h});
    parts.push_back({Target::kKey, Role::kQkvWeight, q, kv, h});
    parts.push_back({Target::kValue, Role::kQkvWeight, q + kv, kv, h});
  }
  parts.push_back({Target::kOutput, Role::kProjectionWeight, 0, h, q});
  if (is_gated(s.activation)) parts.push_back({Target::kGate, Role::kFfnInWeight, 0, s.ffn, h});
  parts.push_back({Target::kUp, Role::kFfnInWeight, is_gated(s.activation) ? s.ffn : 0, s.ffn, h});
  parts.push_back({Target::kDown, Role::kFfnOutWeight, 0, h, s.ffn});
  return parts;
}

}  // namespace plimsoll
