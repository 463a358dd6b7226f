#include "formats/models/hf_llama_relatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/models/hf_dropout.h"

namespace plimsoll {
namespace {

using nlohmann::json;

/// What no kernel here does, though it takes no room.
void own_arithmetic(ModelDescription& found, std::string what) {
  found.spec.other_arithmetic = true;
  found.notes.push_back({.text = fmt::format("{}, for which there are no kernels", what), .changes_numbers = true});
}

/// Granite multiplies embeddings, sums, scores and logits by constants; only the first has a place in a spec.
void read_granite(ConfigFields& fields, ModelDescription& found) {
  ModelSpec& spec = found.spec;
  spec.embedding_scale = fields.positive({"embedding_multiplier"}, 1);
  const double scores = fields.positive({"attention_multiplier"}, 1) * std::sqrt(static_cast<double>(spec.head_dim));
  const double sums = fields.positive({"residual_multiplier"}, 1), logits = fields.positive({"logits_scaling"}, 1);
  if (scores == 1 && sums == 1 && logits == 1) return;
  own_arithmetic(found, "Granite multiplies scores, sums and logits by constants of its own");
}

/// SmolLM3 rotates the heads of most blocks: every fourth one has a 0 in 'no_rope_layers'.
void read_smollm3(ConfigFields& fields, ModelDescription& found) {
  if (fields.flag("use_sliding_window", false)) {
    fields.fault("'use_sliding_window' of a SmolLM3 is not supported", "without it all tokens are seen");
  }
  fields.pass_over({"sliding_window", "layer_types"});
  const std::int64_t every = fields.size({"no_rope_layer_interval"}, 4);
  const json* rotated = fields.find("no_rope_layers");
  bool all = rotated == nullptr ? every > found.spec.layers : false;
  if (rotated != nullptr) {
    if (!rotated->is_array() || static_cast<std::int64_t>(rotated->size()) != found.spec.layers) {
      return fields.fault(fmt::format("'no_rope_layers' is no list of {} layers", found.spec.layers));
    }
    all = std::ranges::all_of(*rotated, [](const json& flag) { return flag == 1; });
  }
  if (!all) own_arithmetic(found, "SmolLM3 leaves the heads of some blocks without rotation");
}

/// Seed-OSS has biases of queries, keys and values as Qwen 2, each kind by a flag of its own.
void read_seed(ConfigFields& fields, ModelDescription& found) {
  found.spec.qkv_bias = fields.flag("attention_bias", true);
  found.spec.projection_bias = fields.flag("attention_out_bias", false);
  found.spec.mlp_bias = fields.flag("mlp_bias", false);
  if (fields.size({"pretraining_tp"}, 1) != 1) {
    found.notes.push_back({.text = "'pretraining_tp' splits products differently; it is not followed"});
  }
  note_dropout(fields, {"residual_dropout"}, found);
}

}  // namespace

void read_llama_relative(ConfigFields& fields, std::string_view type, ModelDescription& found) {
  if (type == "granite") read_granite(fields, found);
  if (type == "smollm3") read_smollm3(fields, found);
  if (type == "seed_oss") read_seed(fields, found);
}

}  // namespace plimsoll
