#include "formats/models/hf_experts.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

/// Keys with which configurations name another router than a softmax over the largest logits.
constexpr std::string_view kRouterKeys[] = {"scoring_func", "router_type", "topk_method"};

void check_router(ConfigFields& fields) {
  for (const std::string_view key : kRouterKeys) {
    const std::string kind = fields.word({key}, "softmax");
    if (kind == "softmax" || kind == "topk" || kind == "greedy") continue;
    fields.fault(fmt::format("'{}' asks for a router of the kind '{}', which is not supported", key, kind), "softmax is");
  }
}

void read_balance(ConfigFields& fields, ExpertSpec& experts) {
  // transformers adds the auxiliary loss only where the routers' logits are asked for.
  const nlohmann::json* coefficient = fields.find("router_aux_loss_coef");
  if (coefficient != nullptr && !coefficient->is_number()) {
    fields.fault(fmt::format("'router_aux_loss_coef': expected a number, found {}", coefficient->dump()));
  }
  const bool adds = fields.flag("output_router_logits", false);
  if (adds) experts.balance = coefficient != nullptr && coefficient->is_number() ? coefficient->get<double>() : 0.001;
}

}  // namespace

std::vector<ModelNote> read_qwen_experts(ConfigFields& fields, ExpertSpec& experts) {
  check_router(fields);
  experts = gating_defaults(GatingKind::kTopK);
  experts.count = fields.size({"num_experts", "num_local_experts"}, 128);
  experts.per_token = fields.size({"num_experts_per_tok"}, 8);
  experts.every = fields.size({"decoder_sparse_step"}, 1);
  experts.width = fields.size({"moe_intermediate_size"}, 768);
  read_balance(fields, experts);
  const nlohmann::json* dense = fields.find("mlp_only_layers");
  if (dense != nullptr && !(dense->is_array() && dense->empty())) {
    fields.fault("'mlp_only_layers' names layers without experts, which is not supported", "decoder_sparse_step is");
  }
  if (fields.flag("norm_topk_prob", false)) return {};
  return {{.text = "'norm_topk_prob' is false, but the gates of a token sum to 1 here", .changes_numbers = true}};
}

std::vector<std::string> read_experts(ConfigFields& fields, ExpertSpec& experts) {
  check_router(fields);
  if (!fields.flag("norm_topk_prob", true)) fields.fault("'norm_topk_prob' false is not supported: gates sum to 1 here");
  experts = gating_defaults(GatingKind::kTopK);
  experts.count = fields.size({"num_local_experts"}, 8);
  experts.per_token = fields.size({"num_experts_per_tok"}, 2);
  read_balance(fields, experts);
  const nlohmann::json* jitter = fields.find("router_jitter_noise");
  if (jitter == nullptr || *jitter == 0) return {};
  return {fmt::format("'router_jitter_noise' is {}, but training here multiplies routers' inputs with no noise", jitter->dump())};
}

Result<void> write_experts(nlohmann::ordered_json& config, const ModelSpec& spec) {
  const ExpertSpec& e = spec.experts;
  const auto bad = [&](std::string what) {
    return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = spec.name,
                 .remedy = "save a single .safetensors file"});
  };
  if (spec.family != Family::kMixtral && e.count == 0) return {};
  if (spec.family != Family::kMixtral) return bad(fmt::format("no config.json of {} with experts is written yet", to_text(spec.family)));
  const bool same = e.count > 0 && e.gating == GatingKind::kTopK && e.every == 1 && e.capacity == 0 && e.dropout == 0 &&
                    spec.expert_width() == spec.ffn;
  if (!same) return bad("transformers' Mixtral has experts with top-k gating in every block, without capacity or dropout");
  config["num_local_experts"] = e.count;
  config["num_experts_per_tok"] = e.per_token;
  config["output_router_logits"] = e.balance > 0;
  config["router_aux_loss_coef"] = e.balance > 0 ? e.balance : 0.001;
  config["router_jitter_noise"] = 0.0;
  return {};
}

}  // namespace plimsoll
