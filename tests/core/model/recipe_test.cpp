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

TEST_CASE("a recipe's momentum, its look ahead and its trust are refused where they are impossible") {
  const auto refusal = [](auto spoil) {
    Recipe recipe = sound();
    spoil(recipe);
    const auto valid = validate(recipe, model());
    return valid ? std::string() : valid.error().text();
  };
  CHECK_THAT(refusal([](Recipe& r) { r.momentum = 1; }), Catch::Contains("--momentum"));
  CHECK_THAT(refusal([](Recipe& r) { r.trust = 0; }), Catch::Contains("--trust"));
  CHECK_THAT(refusal([](Recipe& r) { r.nesterov = true, r.momentum = 0; }), Catch::Contains("--nesterov"));
}

TEST_CASE("an optimizer brings its own numbers, and its digest changes with those that it reads and no others") {
  const Recipe lamb = with_optimizer(sound(), OptimizerKind::kLamb);
  CHECK(lamb.learning_rate == 1e-3);
  CHECK(lamb.weight_decay == 0.01);
  CHECK(lamb.epsilon == 1e-6);
  CHECK(with_optimizer(lamb, OptimizerKind::kAdamW) == sound());
  const auto changes = [](OptimizerKind kind, auto change) {
    Recipe recipe = with_optimizer(sound(), kind), other = recipe;
    change(other);
    return numerics_digest(model(), recipe) != numerics_digest(model(), other);
  };
  const auto faster = [](Recipe& r) { r.momentum = 0.5; };
  CHECK(changes(OptimizerKind::kMomentum, faster));
  CHECK(changes(OptimizerKind::kLars, faster));
  CHECK_FALSE(changes(OptimizerKind::kAdamW, faster));
  CHECK(changes(OptimizerKind::kMomentum, [](Recipe& r) { r.nesterov = true; }));
  CHECK(changes(OptimizerKind::kLars, [](Recipe& r) { r.trust = 0.5; }));
  CHECK(changes(OptimizerKind::kAdafactor, [](Recipe& r) { r.relative_step = false; }));
}

TEST_CASE("AdamW's canonical_text is the one from before there were other optimizers, so that its checkpoints still resume") {
  CHECK(canonical_text(sound()) ==
        "precision=fp32 matmul=onednn optimizer=adamw micro_batch=2 accumulate=1 sequence=64 lr=0.00029999999999999997 "
        "schedule=constant warmup=0 total=0 decay=0.10000000000000001 beta1=0.90000000000000002 beta2=0.94999999999999996 "
        "epsilon=1e-08 clip=1 seed=1");
}

TEST_CASE("every optimizer's name can be read, and an unknown one is refused with those near it, or with all") {
  for (int kind = 0; kind <= static_cast<int>(OptimizerKind::kMuon); ++kind) {
    CHECK(parse_optimizer(to_text(static_cast<OptimizerKind>(kind))).value() == static_cast<OptimizerKind>(kind));
  }
  const auto near = parse_optimizer("adamx");
  REQUIRE_FALSE(near);
  CHECK(near.error().text() == "unknown optimizer 'adamx' (did you mean adam, adamw?)");
  const auto unknown = parse_optimizer("shampoo");
  REQUIRE_FALSE(unknown);
  CHECK_THAT(unknown.error().text(), Catch::Contains("'shampoo'") &&
             Catch::Contains("sgd, momentum, adam, adamw, adam8bit, adafactor, sm3, lamb, lars, lion, muon"));
}

TEST_CASE("every name that is written can be read, and an unknown one brings suggestions") {
  for (const Precision p : {Precision::kFp32, Precision::kFp16Mixed, Precision::kBf16Mixed, Precision::kFp64}) {
    CHECK(parse_precision(to_text(p)).value() == p);
  }
  const auto unknown = parse_precision("bf61-mixed");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().remedy.find("bf16-mixed") != std::string::npos);
}
