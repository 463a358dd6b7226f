#pragma once

#include <string>

#include "core/model/model_spec.h"
#include "core/model/recipe.h"

namespace plimsoll::test {

/// A model of a few thousand parameters with all that its family has; grouped-query attention except for GPT-2 and encoders.
inline ModelSpec small_model(Family family, std::int64_t layers = 4) {
  ModelSpec spec = family_defaults(family);
  const bool encoder = family == Family::kBert || family == Family::kVit;
  spec.name = family == Family::kGpt2 ? "small gpt" : "small " + std::string(to_text(family));
  spec.layers = layers;
  spec.hidden = 32;
  spec.heads = 4;
  const bool alone = family == Family::kGpt2 || family == Family::kOlmo2 || encoder;
  spec.kv_heads = family == Family::kGptBigCode ? 1 : alone ? 4 : 2;
  spec.head_dim = 8;
  spec.ffn = 64;
  spec.vocabulary = 256;
  spec.max_positions = 32;
  if (family == Family::kVit) {
    spec.vocabulary = 0;
    spec.image = {.size = 10, .patch = 2, .channels = 3};  // 25 patches and the class token
    spec.max_positions = 26;
    spec.classes = 7;
  }
  if (family == Family::kT5) spec.decoder_layers = 3;
  if (family == Family::kPhi) spec.rotary_dim = 4;
  if (family == Family::kMixtral) spec.experts.count = 4;
  if (family == Family::kGemma || family == Family::kGemma3) spec.embedding_scale = 2;
  if (family == Family::kMistral) spec.window = 32;
  if (family == Family::kGemma3) spec.window = 80, spec.full_every = 2;
  return spec;
}

/// Two sequences of 32 tokens.
inline Recipe small_recipe(std::int64_t accumulate = 1) {
  return {.micro_batch = 2, .accumulate = accumulate, .sequence = 32};
}

}  // namespace plimsoll::test
