#include "core/model/recipe.h"

#include <catch2/catch.hpp>
#include <limits>

#include "core/base/digest.h"

using namespace plimsoll;

namespace {

ModelSpec model() {
  ModelSpec spec = family_defaults(Family::kGpt2);
  spec.name = "small";
  spec.max_positions = 128;
  return spec;
}

Recipe sound() { return {.micro_batch = 2, .sequence = 64}; }

}  // namespace

TEST_CASE("the learning rate rises linearly, then falls to a tenth of its peak") {
  Recipe recipe{.learning_rate = 1.0, .schedule = LrSchedule::kLinear, .warmup_steps = 4, .total_steps = 14};
  CHECK(learning_rate_at(recipe, 0) == Approx(0.25));  // (0+1)/4
  CHECK(learning_rate_at(recipe, 3) == Approx(1.0));
  CHECK(learning_rate_at(recipe, 9) == Approx(0.55));  // halfway: 0.1 + 0.9·(1 − 5/10)
  CHECK(learning_rate_at(recipe, 14) == Approx(0.1));
  recipe.schedule = LrSchedule::kCosine;
  CHECK(learning_rate_at(recipe, 9) == Approx(0.55));  // 0.1 + 0.9·(1 + cos(π/2))/2
  CHECK(learning_rate_at(recipe, 1000) == Approx(0.1));
}

TEST_CASE("a sequence beyond the model's positions is refused with the bound") {
  Recipe recipe = sound();
  recipe.sequence = 129;
  const auto valid = validate(recipe, model());
  REQUIRE_FALSE(valid);
  CHECK(valid.error().what.find("128") != std::string::npos);
  CHECK(valid.error().remedy.find("--seq 128") != std::string::npos);
}

TEST_CASE("a sequence beyond the sliding window is refused with the window, within it none is noticed") {
  ModelSpec windowed = model();
  windowed.window = 32;
  Recipe recipe = sound();
  const auto valid = validate(recipe, windowed);
  REQUIRE_FALSE(valid);
  CHECK_THAT(valid.error().text(), Catch::Contains("window of 32 tokens") && Catch::Contains("--seq 32"));
  recipe.sequence = 32;
  CHECK(validate(recipe, windowed));
}

TEST_CASE("a recipe with impossible numbers is refused") {
  const auto refused = [](auto spoil) {
    Recipe recipe = sound();
    spoil(recipe);
    return !validate(recipe, model());
  };
  CHECK(validate(sound(), model()));
  CHECK(refused([](Recipe& r) { r.micro_batch = 0; }));
  CHECK(refused([](Recipe& r) { r.beta2 = 1.0; }));
  CHECK(refused([](Recipe& r) { r.learning_rate = -1; }));
  CHECK(refused([](Recipe& r) { r.clip = std::numeric_limits<double>::quiet_NaN(); }));
  CHECK(refused([](Recipe& r) { r.schedule = LrSchedule::kCosine; }));  // without a number of steps
}

TEST_CASE("numerics_digest changes with anything that changes numbers") {
  const std::string base = numerics_digest(model(), sound());
  Recipe other = sound();
  other.seed = 2;
  CHECK(numerics_digest(model(), other) != base);
  other = sound();
  other.accumulate = 2;
  CHECK(numerics_digest(model(), other) != base);
  CHECK(numerics_digest(model(), sound()) == base);
}

TEST_CASE("a tied model's digest over several micro-batches is not the one from before its gradient was summed in two parts") {
  const auto once = [](const ModelSpec& spec, const Recipe& recipe) {
    return digest_of(canonical_text(spec) + "\n" + canonical_text(recipe));
  };
  ModelSpec spec = model();
  Recipe recipe = sound();
  for (const bool tied : {true, false}) {
    for (const std::int64_t accumulate : {1, 2}) {
      spec.tied_head = tied;
      recipe.accumulate = accumulate;
      CHECK((numerics_digest(spec, recipe) == once(spec, recipe)) == (!tied || accumulate == 1));
    }
  }
}

TEST_CASE("every name that is written can be read, and an unknown one brings suggestions") {
  for (const Precision p : {Precision::kFp32, Precision::kFp16Mixed, Precision::kBf16Mixed, Precision::kFp64}) {
    CHECK(parse_precision(to_text(p)).value() == p);
  }
  const auto unknown = parse_precision("bf61-mixed");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().remedy.find("bf16-mixed") != std::string::npos);
}
