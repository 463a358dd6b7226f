#include "core/model/adapter.h"

#include <catch2/catch.hpp>

#include "core/graph/buildable.h"
#include "core/model/parameters.h"
#include "core/model/recipe.h"
#include "tests/support/small_models.h"

namespace plimsoll::test {
namespace {

using Target = AdapterTarget;

AdapterSpec beside(std::vector<Target> targets, std::int64_t rank = 2) {
  return {.rank = rank, .alpha = 4, .targets = std::move(targets)};
}

std::string refusal(std::string_view targets, const ModelSpec& spec) {
  const auto parsed = parse_adapter_targets(targets, spec);
  REQUIRE_FALSE(parsed);
  return parsed.error().text();
}

}  // namespace

TEST_CASE("a family's matrices are those that its checkpoints hold apart") {
  CHECK(to_text(adapter_targets(small_model(Family::kGpt2))) == "qkv,o,up,down");
  CHECK(to_text(adapter_targets(small_model(Family::kLlama))) == "q,k,v,o,gate,up,down");
  CHECK(to_text(adapter_targets(small_model(Family::kPhi))) == "q,k,v,o,up,down");
}

TEST_CASE("targets are named shortly or as checkpoints name them, in any order, each once") {
  const ModelSpec llama = small_model(Family::kLlama), gpt2 = small_model(Family::kGpt2), phi = small_model(Family::kPhi);
  CHECK(parse_adapter_targets("down,q,q_proj", llama).value() == std::vector{Target::kQuery, Target::kDown});
  CHECK(parse_adapter_targets("all", llama).value() == adapter_targets(llama));
  CHECK(parse_adapter_targets("all-linear", llama).value() == adapter_targets(llama));  // PEFT's word
  CHECK(parse_adapter_targets("c_attn,c_fc", gpt2).value() == std::vector{Target::kQkv, Target::kUp});
  CHECK(parse_adapter_targets("c_proj", gpt2).value() == std::vector{Target::kOutput, Target::kDown});
  CHECK(parse_adapter_targets("dense,fc2", phi).value() == std::vector{Target::kOutput, Target::kDown});
}

TEST_CASE("a target that the model has not is refused with those that it has") {
  CHECK_THAT(refusal("q,k", small_model(Family::kGpt2)), Catch::Contains("'q'") && Catch::Contains("qkv,o,up,down"));
  CHECK_THAT(refusal("gate", small_model(Family::kPhi)), Catch::Contains("q,k,v,o,up,down"));
  CHECK_THAT(refusal("q,,v", small_model(Family::kLlama)), Catch::Contains("''"));
  CHECK_THAT(refusal("embed_tokens", small_model(Family::kLlama)), Catch::Contains("embed_tokens"));
}

TEST_CASE("adapters of a mixture of experts stand beside attention alone, and our own step refuses them by name") {
  ModelSpec spec = small_model(Family::kLlama);
  spec.experts.count = 4;
  CHECK(to_text(adapter_targets(spec)) == "q,k,v,o");
  CHECK_THAT(refusal("gate", spec), Catch::Contains("q,k,v,o"));
  const Recipe recipe{.adapter = beside({Target::kQuery})};
  CHECK(validate(recipe.adapter, spec));
  CHECK_THAT(check_buildable(spec, recipe).error().text(),
             Catch::Contains("is a mixture of experts, which would be frozen"));
  CHECK(check_buildable(small_model(Family::kLlama), recipe));
}

TEST_CASE("an adapter's rank is at most that of the matrix beside which it stands") {
  const ModelSpec llama = small_model(Family::kLlama);  // keys are 2 heads of 8: [16, 32]
  CHECK(validate(beside({Target::kKey}, 16), llama));
  const auto refused = validate(beside({Target::kQuery, Target::kKey}, 17), llama);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().text(), Catch::Contains("'k'") && Catch::Contains("16 x 32"));
  CHECK(validate(beside({Target::kQuery}, 17), llama));
  CHECK_FALSE(validate(beside({}), llama));
  CHECK_FALSE(validate(AdapterSpec{.rank = 2, .alpha = 0, .targets = {Target::kQuery}}, llama));
  CHECK_FALSE(validate(AdapterSpec{.rank = -1}, llama));
}

TEST_CASE("adapters stand behind the groups of a model, which keep their ids and are frozen") {
  const ModelSpec spec = small_model(Family::kLlama, 3);
  const ParameterLayout alone = lay_out_parameters(spec), both = lay_out_parameters(spec, beside({Target::kKey, Target::kDown}));
  REQUIRE(both.groups.size() == alone.groups.size() + 3);
  for (std::size_t g = 0; g < alone.groups.size(); ++g) {
    CHECK(both.groups[g].name == alone.groups[g].name);
    CHECK(both.groups[g].elements == alone.groups[g].elements);
    CHECK(both.groups[g].frozen);
    CHECK_FALSE(alone.groups[g].frozen);
  }
  CHECK(both.head() == alone.head());
  CHECK(both.at(both.adapter(2)).block == 2);
  // k: A [2, 32], B [16, 2]; down: A [2, 64], B [32, 2].
  CHECK(both.at(both.adapter(0)).elements == 2 * 32 + 16 * 2 + 2 * 64 + 32 * 2);
  CHECK(both.trained_elements() == 3 * both.at(both.adapter(0)).elements);
  CHECK(alone.trained_elements() == alone.elements());
}

TEST_CASE("adapters belong to what decides numbers, and their absence changes no digest") {
  const ModelSpec spec = small_model(Family::kLlama);
  Recipe recipe = small_recipe();
  const std::string without = numerics_digest(spec, recipe);
  CHECK_THAT(canonical_text(recipe), !Catch::Contains("lora"));
  recipe.adapter = beside({Target::kQuery});
  const std::string with = numerics_digest(spec, recipe);
  CHECK(with != without);
  recipe.adapter.alpha = 5;
  CHECK(numerics_digest(spec, recipe) != with);
}

}  // namespace plimsoll::test
