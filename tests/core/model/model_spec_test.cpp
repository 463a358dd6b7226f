#include "core/model/model_spec.h"

#include <catch2/catch.hpp>

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
      {[](ModelSpec& s) { s.vocabulary = std::int64_t{1} << 40; }, "vocab"},
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
  ModelSpec other = base;
  other.norm_epsilon = 1e-6;
  CHECK(canonical_text(base) != canonical_text(other));
  other = base;
  other.tied_head = true;
  CHECK(canonical_text(base) != canonical_text(other));
}
