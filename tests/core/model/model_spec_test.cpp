#include "core/model/model_spec.h"

#include <catch2/catch.hpp>
#include <set>

using namespace plimsoll;

namespace {

ModelSpec tiny() {
  ModelSpec spec = family_defaults(Family::kLlama);
  spec.name = "tiny";
  spec.layers = 2;
  spec.hidden = 64;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_dim = 16;
  spec.ffn = 128;
  spec.vocabulary = 256;
  spec.max_positions = 32;
  return spec;
}

}  // namespace

TEST_CASE("validate accepts a sound model and names what is wrong with any other") {
  CHECK(validate(tiny()));
  const struct {
    void (*spoil)(ModelSpec&);
    const char* named;
  } cases[] = {
      {[](ModelSpec& s) { s.layers = 0; }, "layers"},
      {[](ModelSpec& s) { s.hidden = -1; }, "hidden"},
      {[](ModelSpec& s) { s.kv_heads = 3; }, "kv_heads"},
      {[](ModelSpec& s) { s.head_dim = 15; }, "head_dim"},
      {[](ModelSpec& s) { s.rotary_dim = 18; }, "rotary_dim"},
      {[](ModelSpec& s) { s.rotary_dim = 7; }, "rotary_dim"},
      {[](ModelSpec& s) { s.window = -1; }, "window"},
      {[](ModelSpec& s) { s.embedding_scale = 0; }, "embedding_scale"},
      {[](ModelSpec& s) { s.qk_norm = true; s.norm = NormKind::kLayerNorm; }, "RMS"},
      {[](ModelSpec& s) { s.rope_scaling = {.kind = RopeScalingKind::kLinear, .factor = 0.5}; }, "factor"},
      {[](ModelSpec& s) { s.rope_scaling = {.kind = RopeScalingKind::kLlama3, .low_frequency = 4}; }, "low_frequency"},
      {[](ModelSpec& s) { s.vocabulary = std::int64_t{1} << 40; }, "vocab"},
      {[](ModelSpec& s) { s.causal = false; }, "next token"},
      {[](ModelSpec& s) { s.head = HeadKind::kMaskedToken; }, "hidden tokens"},
      {[](ModelSpec& s) { s.causal = false; s.head = HeadKind::kClass; }, "classes"},
      {[](ModelSpec& s) { s.pooler = true; }, "pooler"},
      {[](ModelSpec& s) { s.post_norm = s.parallel_block = true; }, "parallel"},
      {[](ModelSpec& s) { s.mask_token = 256; }, "mask token 256"},
      {[](ModelSpec& s) { s.token_types = 256; }, "token_types"},
      {[](ModelSpec& s) { s.image = {.size = 30, .patch = 16, .channels = 3}; }, "patches of 16"},
      {[](ModelSpec& s) { s.image = {.size = 32, .patch = 16, .channels = 4}; }, "channels"},
      {[](ModelSpec& s) { s.image = {.size = 32, .patch = 16, .channels = 3}; }, "5 positions, not 32"},
      {[](ModelSpec& s) { s.hidden = s.vocabulary = (1 << 24); s.heads = 1 << 23; s.kv_heads = 1 << 23; }, "2^40"},
  };
  for (const auto& [spoil, named] : cases) {
    ModelSpec spec = tiny();
    spoil(spec);
    const auto valid = validate(spec);
    REQUIRE_FALSE(valid);
    CHECK(valid.error().what.find(named) != std::string::npos);
  }
}

TEST_CASE("canonical_text differs whenever a field differs") {
  const ModelSpec base = tiny();
  void (*const changes[])(ModelSpec&) = {
      [](ModelSpec& s) { s.norm_epsilon = 1e-6; },     [](ModelSpec& s) { s.tied_head = true; },
      [](ModelSpec& s) { s.qkv_bias = true; },         [](ModelSpec& s) { s.projection_bias = true; },
      [](ModelSpec& s) { s.head_bias = true; },        [](ModelSpec& s) { s.qk_norm = true; },
      [](ModelSpec& s) { s.parallel_block = true; },   [](ModelSpec& s) { s.rotary_dim = 8; },
      [](ModelSpec& s) { s.embedding_scale = 2; },     [](ModelSpec& s) { s.window = 16; },
      [](ModelSpec& s) { s.rope_scaling.kind = RopeScalingKind::kLinear; },
      [](ModelSpec& s) { s.rope_scaling = {.kind = RopeScalingKind::kLlama3, .factor = 8}; },
      [](ModelSpec& s) { s.rope_scaling = {.kind = RopeScalingKind::kLlama3, .factor = 8, .low_frequency = 2}; },
      [](ModelSpec& s) { s.causal = false; },          [](ModelSpec& s) { s.post_norm = true; },
      [](ModelSpec& s) { s.embedding_norm = true; },   [](ModelSpec& s) { s.token_types = 2; },
      [](ModelSpec& s) { s.head = HeadKind::kClass; }, [](ModelSpec& s) { s.classes = 2; },
      [](ModelSpec& s) { s.pooler = true; },           [](ModelSpec& s) { s.mask_token = 3; },
      [](ModelSpec& s) { s.image.size = 32; },
      [](ModelSpec& s) { s.image = {.size = 32, .patch = 4}; },
      [](ModelSpec& s) { s.image = {.size = 32, .patch = 4, .channels = 1}; },
      [](ModelSpec& s) { s.image = {.size = 32, .mean = {0.1, 0.2, 0.3}}; }};
  std::set<std::string> texts{canonical_text(base)};
  for (const auto change : changes) {
    ModelSpec other = base;
    change(other);
    CHECK(texts.insert(canonical_text(other)).second);
  }
}

TEST_CASE("a Llama's canonical_text is the one from before there were other families, so that its checkpoints still resume") {
  CHECK(canonical_text(tiny()) ==
        "family=llama layers=2 hidden=64 heads=4 kv_heads=2 head_dim=16 ffn=128 vocab=256 positions=32 norm=rmsnorm "
        "activation=swiglu position=rope tied=false attention_bias=false mlp_bias=false epsilon=1.0000000000000001e-05 "
        "theta=10000");
}
