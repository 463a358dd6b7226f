#include "core/model/experts.h"

#include <catch2/catch.hpp>
#include <set>

#include "core/model/parameters.h"
#include "core/model/recipe.h"

using namespace plimsoll;

namespace {

ModelSpec mixtral_8x7b() {
  ModelSpec spec = family_defaults(Family::kMixtral);
  spec.layers = 32;
  spec.hidden = 4096;
  spec.heads = 32;
  spec.kv_heads = 8;
  spec.head_dim = 128;
  spec.ffn = 14336;
  spec.vocabulary = 32000;
  spec.max_positions = 32768;
  return spec;
}

}  // namespace

TEST_CASE("Mixtral 8x7B has the published 46.7 billion parameters, and 12.9 of a token's way") {
  // A block: 2·4096² + 2·4096·1024 attention, 8·3·4096·14336 experts, 8·4096 router, 2·4096 norms: 1,451,270,144.
  // 32 blocks, 2·32000·4096 embedding and head, 4096 final norm: 46,702,792,704. Without six of eight experts: 12,879,925,248.
  CHECK(validate(mixtral_8x7b()));
  CHECK(parameter_count(mixtral_8x7b()) == 46'702'792'704);
  CHECK(active_parameter_count(mixtral_8x7b()) == 12'879'925'248);
}

TEST_CASE("experts in every second block leave the others dense, and a noisy router has a second matrix") {
  ModelSpec spec = mixtral_8x7b();
  const std::int64_t all = parameter_count(spec);
  spec.experts.every = 2;  // 16 blocks lose 7·3·4096·14336 + 8·4096
  CHECK(all - parameter_count(spec) == 16 * (7 * 3 * 4096LL * 14336 + 8 * 4096));
  CHECK_FALSE(spec.has_experts(0));
  CHECK(spec.has_experts(1));
  spec.experts.gating = GatingKind::kNoisy;
  CHECK(all - parameter_count(spec) == 16 * (7 * 3 * 4096LL * 14336));
  CHECK(active_parameter_count(family_defaults(Family::kGpt2)) == parameter_count(family_defaults(Family::kGpt2)));
}

TEST_CASE("validate names what is wrong with a mixture of experts") {
  const struct {
    void (*spoil)(ExpertSpec&);
    const char* named;
  } cases[] = {
      {[](ExpertSpec& e) { e.per_token = 9; }, "top-k=9 does not lie between 1 and experts=8"},
      {[](ExpertSpec& e) { e.per_token = 0; }, "top-k=0"},
      {[](ExpertSpec& e) { e.per_token = 1; }, "constant weight 1"},
      {[](ExpertSpec& e) { e.count = 1; }, "experts=1"},
      {[](ExpertSpec& e) { e.gating = GatingKind::kSwitch; }, "one expert"},
      {[](ExpertSpec& e) { e.gating = GatingKind::kGShard; }, "needs a capacity"},
      {[](ExpertSpec& e) { e.gating = GatingKind::kGShard; e.capacity = 1; e.per_token = 3; }, "two experts"},
      {[](ExpertSpec& e) { e.capacity = -1; }, "capacity"},
      {[](ExpertSpec& e) { e.load = 0.1; }, "load"},
      {[](ExpertSpec& e) { e.balance = -0.1; }, "router_loss"},
      {[](ExpertSpec& e) { e.dropout = 1; }, "expert_dropout"},
      {[](ExpertSpec& e) { e.every = 0; }, "every"},
      {[](ExpertSpec& e) { e.every = 33; }, "no block"},
      {[](ExpertSpec& e) { e.groups = 0; }, "groups"},
      {[](ExpertSpec& e) { e.gating = GatingKind::kNoisy; e.load = 1; e.per_token = 8; }, "top-k below experts"},
  };
  for (const auto& [spoil, named] : cases) {
    ModelSpec spec = mixtral_8x7b();
    spoil(spec.experts);
    const auto valid = validate(spec);
    INFO(named);
    REQUIRE_FALSE(valid);
    CHECK(valid.error().what.find(named) != std::string::npos);
  }
}

TEST_CASE("a capacity is a share of an even distribution, rounded up") {
  ExpertSpec experts = gating_defaults(GatingKind::kSwitch);
  experts.count = 8;
  CHECK(capacity_of(experts, 64) == 10);  // 1.25 · 1 · 64 / 8
  CHECK(capacity_of(experts, 60) == 10);  // 9.375
  ExpertSpec two = gating_defaults(GatingKind::kGShard);
  two.count = 8;
  CHECK(capacity_of(two, 64) == 16);  // GShard's 2 N / (G E)
  two.capacity = 0;
  CHECK(capacity_of(two, 64) == 0);
}

TEST_CASE("a capacity below one token, and groups that do not divide a micro-batch, are refused with a remedy") {
  ModelSpec spec = mixtral_8x7b();
  const Recipe recipe{.micro_batch = 2, .sequence = 16};
  CHECK(validate(recipe, spec));
  spec.experts.capacity = 0.1;  // of 2 · 32 / 8 = 8 tokens: 0.8
  const auto small = validate(recipe, spec);
  REQUIRE_FALSE(small);
  CHECK(small.error().what.find("capacity=0.1") != std::string::npos);
  CHECK(small.error().remedy.find("capacity=0.125") != std::string::npos);
  spec.experts.capacity = 0.125;
  CHECK(validate(recipe, spec));
  spec.experts.groups = 3;
  CHECK(validate(recipe, spec).error().what.find("groups=3") != std::string::npos);
}

TEST_CASE("canonical_text differs whenever a field of the experts differs, and says nothing of models without them") {
  const ModelSpec base = mixtral_8x7b();
  void (*const changes[])(ExpertSpec&) = {
      [](ExpertSpec& e) { e.count = 4; },      [](ExpertSpec& e) { e.per_token = 3; }, [](ExpertSpec& e) { e.every = 2; },
      [](ExpertSpec& e) { e.width = 7; },      [](ExpertSpec& e) { e.capacity = 2; },  [](ExpertSpec& e) { e.groups = 2; },
      [](ExpertSpec& e) { e.balance = 0.1; },  [](ExpertSpec& e) { e.load = 0.1; },    [](ExpertSpec& e) { e.dropout = 0.1; },
      [](ExpertSpec& e) { e.gating = GatingKind::kNoisy; }};
  std::set<std::string> texts{canonical_text(base)};
  for (const auto change : changes) {
    ModelSpec other = base;
    change(other.experts);
    CHECK(texts.insert(canonical_text(other)).second);
  }
  CHECK(canonical_text(family_defaults(Family::kLlama)).find("expert") == std::string::npos);
}
