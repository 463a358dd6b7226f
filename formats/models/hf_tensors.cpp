#include "formats/models/hf_tensors.h"

#include <fmt/format.h>

#include "formats/models/group_lister.h"
#include "formats/models/hf_encoder_tensors.h"
#include "formats/models/hf_t5_tensors.h"

namespace plimsoll {
namespace {

using Role = ParameterRole;

/// One weight or bias of every expert; a gated activation reads w1's output through w3's.
void list_expert_parts(GroupLister& lister, const ModelSpec& spec, const std::string& prefix, std::string_view suffix, Role in,
                       Role out) {
  const std::int64_t width = spec.expert_width();
  const bool qwen = spec.family == Family::kQwen3;
  const std::string_view gate = qwen ? "gate_proj" : "w1", up = qwen ? "up_proj" : "w3", down = qwen ? "down_proj" : "w2";
  for (std::int64_t e = 0; e < spec.experts.count; ++e) {
    const std::string of_expert = fmt::format("{}experts.{}.", prefix, e);
    const std::int64_t first = e * spec.expert_in_width();
    lister.part(in, fmt::format("{}{}.{}", of_expert, gate, suffix), first, width);
    if (is_gated(spec.activation)) lister.part(in, fmt::format("{}{}.{}", of_expert, up, suffix), first + width, width);
    lister.part(out, fmt::format("{}{}.{}", of_expert, down, suffix), e * spec.hidden, spec.hidden);
  }
}

/// Nothing of a block without experts. Mixtral's names, in every family but Qwen 3.
void list_experts(GroupLister& lister, const ModelSpec& spec, const std::string& block) {
  const std::string prefix = block + (spec.family == Family::kQwen3 ? "mlp." : "block_sparse_moe.");
  lister.whole(Role::kRouterWeight, prefix + "gate.weight");
  lister.whole(Role::kRouterNoiseWeight, prefix + "noise_gate.weight");
  list_expert_parts(lister, spec, prefix, "weight", Role::kExpertInWeight, Role::kExpertOutWeight);
  list_expert_parts(lister, spec, prefix, "bias", Role::kExpertInBias, Role::kExpertOutBias);
}

void list_gpt2_block(GroupLister lister, const ModelSpec& spec, const std::string& prefix) {
  lister.whole(Role::kNorm1Weight, prefix + "ln_1.weight");
  lister.whole(Role::kNorm1Bias, prefix + "ln_1.bias");
  const bool linear = spec.family == Family::kGptBigCode;  // else Conv1D, which holds [inputs, outputs]
  const auto matrix = [&](Role role, std::string name) {
    if (linear) return lister.whole(role, std::move(name));
    lister.transposed(role, std::move(name));
  };
  matrix(Role::kQkvWeight, prefix + "attn.c_attn.weight");
  lister.whole(Role::kQkvBias, prefix + "attn.c_attn.bias");
  matrix(Role::kProjectionWeight, prefix + "attn.c_proj.weight");
  lister.whole(Role::kProjectionBias, prefix + "attn.c_proj.bias");
  lister.whole(Role::kNorm2Weight, prefix + "ln_2.weight");
  lister.whole(Role::kNorm2Bias, prefix + "ln_2.bias");
  matrix(Role::kFfnInWeight, prefix + "mlp.c_fc.weight");
  lister.whole(Role::kFfnInBias, prefix + "mlp.c_fc.bias");
  matrix(Role::kFfnOutWeight, prefix + "mlp.c_proj.weight");
  lister.whole(Role::kFfnOutBias, prefix + "mlp.c_proj.bias");
  list_experts(lister, spec, prefix);
}

void list_llama_attention(GroupLister& lister, const ModelSpec& spec, const std::string& prefix) {
  const std::int64_t q = spec.attention_width();
  const std::int64_t kv = spec.kv_heads * spec.head_dim;
  if (spec.family == Family::kPhi3) {
    lister.whole(Role::kQkvWeight, prefix + "qkv_proj.weight");
    return lister.whole(Role::kProjectionWeight, prefix + "o_proj.weight");
  }
  const struct {
    std::string_view suffix;
    Role qkv;
    Role output;
  } kinds[] = {{".weight", Role::kQkvWeight, Role::kProjectionWeight}, {".bias", Role::kQkvBias, Role::kProjectionBias}};
  for (const auto& [suffix, qkv, output] : kinds) {
    lister.part(qkv, fmt::format("{}q_proj{}", prefix, suffix), 0, q);
    lister.part(qkv, fmt::format("{}k_proj{}", prefix, suffix), q, kv);
    lister.part(qkv, fmt::format("{}v_proj{}", prefix, suffix), q + kv, kv);
    lister.whole(output, fmt::format("{}{}{}", prefix, spec.family == Family::kPhi ? "dense" : "o_proj", suffix));
  }
  lister.whole(Role::kQueryNormWeight, prefix + "q_norm.weight");
  lister.whole(Role::kKeyNormWeight, prefix + "k_norm.weight");
}

void list_phi_block(GroupLister lister, const ModelSpec& spec, const std::string& prefix) {
  lister.whole(Role::kNorm1Weight, prefix + "input_layernorm.weight");
  lister.whole(Role::kNorm1Bias, prefix + "input_layernorm.bias");
  list_llama_attention(lister, spec, prefix + "self_attn.");
  lister.whole(Role::kFfnInWeight, prefix + "mlp.fc1.weight");
  lister.whole(Role::kFfnInBias, prefix + "mlp.fc1.bias");
  lister.whole(Role::kFfnOutWeight, prefix + "mlp.fc2.weight");
  lister.whole(Role::kFfnOutBias, prefix + "mlp.fc2.bias");
  list_experts(lister, spec, prefix);
}

void list_llama_block(GroupLister lister, const ModelSpec& spec, const std::string& prefix) {
  lister.whole(Role::kNorm1Weight, prefix + "input_layernorm.weight");
  list_llama_attention(lister, spec, prefix + "self_attn.");
  const bool behind = spec.norms_behind();  // Gemma 3, OLMo 2
  lister.whole(Role::kNorm2Weight, prefix + (behind ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight"));
  lister.whole(Role::kNorm1BehindWeight, prefix + "post_attention_layernorm.weight");
  lister.whole(Role::kNorm2BehindWeight, prefix + "post_feedforward_layernorm.weight");
  lister.whole(Role::kNorm1Bias, prefix + "input_layernorm.bias");
  lister.whole(Role::kNorm2Bias, prefix + "post_attention_layernorm.bias");
  if (spec.family == Family::kPhi3) {
    lister.whole(Role::kFfnInWeight, prefix + "mlp.gate_up_proj.weight");
    return lister.whole(Role::kFfnOutWeight, prefix + "mlp.down_proj.weight");
  }
  const struct {
    std::string_view suffix;
    Role in;
    Role out;
  } kinds[] = {{".weight", Role::kFfnInWeight, Role::kFfnOutWeight}, {".bias", Role::kFfnInBias, Role::kFfnOutBias}};
  for (const auto& [suffix, in, out] : kinds) {
    if (!is_gated(spec.activation)) {  // StarCoder 2
      lister.whole(in, fmt::format("{}mlp.c_fc{}", prefix, suffix));
      lister.whole(out, fmt::format("{}mlp.c_proj{}", prefix, suffix));
      continue;
    }
    lister.part(in, fmt::format("{}mlp.gate_proj{}", prefix, suffix), 0, spec.ffn);
    lister.part(in, fmt::format("{}mlp.up_proj{}", prefix, suffix), spec.ffn, spec.ffn);
    lister.whole(out, fmt::format("{}mlp.down_proj{}", prefix, suffix));
  }
  list_experts(lister, spec, prefix);
}

}  // namespace

Result<void> check_hf_names(const ModelSpec& spec) {
  const bool relative = spec.family == Family::kBert && (spec.position_offset > 0 || spec.token_types == 0);
  if (relative) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "weights of RoBERTa's and DistilBERT's kind can be neither read nor written",
                 .where = spec.name,
                 .remedy = "fit, plan and simulate need none"});
  }
  switch (spec.family) {
    case Family::kGpt2:
    case Family::kLlama:
    case Family::kMistral:
    case Family::kQwen2:
    case Family::kQwen3:
    case Family::kGemma:
    case Family::kPhi:
    case Family::kMixtral:
    case Family::kBert:
    case Family::kVit:
    case Family::kStableLm:
    case Family::kGemma3:
    case Family::kOlmo2:
    case Family::kGptBigCode:
    case Family::kPhi3: return {};
    case Family::kT5:
      if (spec.experts.count == 0) return {};
      break;
    default: break;
  }
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("weights of the family '{}' can be neither read nor written", to_text(spec.family)),
               .where = spec.name,
               .remedy = "fit, plan and simulate need none; run can begin from random weights where its kernels allow"});
}

std::vector<HfTensor> hf_tensors(const ModelSpec& spec) {
  const ParameterLayout layout = lay_out_parameters(spec);
  if (spec.family == Family::kBert || spec.family == Family::kVit) return encoder_tensors(spec, layout);
  if (spec.family == Family::kT5) return t5_tensors(spec, layout);
  const bool gpt2 = spec.family == Family::kGpt2 || spec.family == Family::kGptBigCode, phi = spec.family == Family::kPhi;
  const std::string final_norm = gpt2 ? "transformer.ln_f" : phi ? "model.final_layernorm" : "model.norm";
  std::vector<HfTensor> tensors;
  GroupLister embedding(tensors, layout, layout.embedding());
  embedding.whole(Role::kTokenEmbedding, gpt2 ? "transformer.wte.weight" : "model.embed_tokens.weight");
  embedding.whole(Role::kPositionEmbedding, "transformer.wpe.weight");
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const GroupLister block(tensors, layout, layout.block(layer));
    if (gpt2) list_gpt2_block(block, spec, fmt::format("transformer.h.{}.", layer));
    if (phi) list_phi_block(block, spec, fmt::format("model.layers.{}.", layer));
    if (!gpt2 && !phi) list_llama_block(block, spec, fmt::format("model.layers.{}.", layer));
  }
  GroupLister head(tensors, layout, layout.head());
  head.whole(Role::kFinalNormWeight, final_norm + ".weight");
  head.whole(Role::kFinalNormBias, final_norm + ".bias");
  head.whole(Role::kHeadWeight, "lm_head.weight");
  head.whole(Role::kHeadBias, "lm_head.bias");
  return tensors;
}

}  // namespace plimsoll
