#include "sim/planner/lower_to_plan.h"

#include <catch2/catch.hpp>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "sim/planner/search_plan.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

Plan lowered(const Strategy& strategy, Family family = Family::kGpt2, std::int64_t accumulate = 1,
             Precision precision = Precision::kFp32) {
  Recipe recipe = small_recipe(accumulate);
  recipe.precision = precision;
  return lower_to_plan(small_model(family), recipe, tiny_platform(), strategy, {.evaluation = true}).value();
}

Bytes peak(const Plan& plan, SpaceKind kind) { return plan.arena_bytes(*plan.platform.space(kind)); }

std::size_t count_launches(const Plan& plan, OpKind kind) {
  const FlatBody body = expand(plan, *plan.body("step"));
  std::size_t count = 0;
  for (const Instruction& instruction : body.list.instructions) {
    count += instruction.kind == InstructionKind::kLaunch && plan.at(instruction.kernel).kind == kind ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("every candidate strategy lowers to a plan that obeys the law of plans") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    for (const std::int64_t accumulate : {1, 3}) {
      for (const Precision precision : {Precision::kFp32, Precision::kBf16Mixed, Precision::kFp16Mixed}) {
        for (const Strategy& strategy : candidate_strategies(4, tiny_platform(), precision)) {
          const auto verified = verify_plan(lowered(strategy, family, accumulate, precision));
          INFO(describe(strategy) << ": " << (verified ? std::string() : verified.error().text()));
          CHECK(verified);
        }
      }
    }
  }
}

TEST_CASE("a plan without overlap, with one staging buffer, obeys the law of plans too") {
  const Strategy cautious{.name = "warm-up", .recompute_every = 1, .optimizer = Tier::kHost, .gradients = Tier::kHost,
                          .staging_slots = 1, .overlap = false};
  CHECK(verify_plan(lowered(cautious)));
}

TEST_CASE("recomputation runs each block's attention once more and needs less device memory") {
  const Plan resident = lowered({.name = "resident"});
  const Plan recomputed = lowered({.name = "recompute", .recompute_every = 1});
  CHECK(count_launches(resident, OpKind::kAttention) == 4);
  CHECK(count_launches(recomputed, OpKind::kAttention) == 8);
  CHECK(peak(recomputed, SpaceKind::kDevice) < peak(resident, SpaceKind::kDevice));
}

TEST_CASE("recomputation leaves out what no backward kernel reads") {
  // Of a block's four linear layers the last, and the residual sum after it, feed only the next block: 4 blocks recompute 3.
  const Plan recomputed = lowered({.name = "recompute", .recompute_every = 1});
  CHECK(count_launches(recomputed, OpKind::kLinear) == 4 * 4 + 1 + 4 * 3);
  CHECK(count_launches(recomputed, OpKind::kAdd) == 4 * 2 + 4 * 1);
}

TEST_CASE("the optimizer's state leaves the device for the tier that the strategy names") {
  const std::int64_t parameters = parameter_count(small_model(Family::kGpt2));
  const Plan resident = lowered({.name = "resident"});
  const Plan offloaded = lowered({.name = "offload-optimizer", .optimizer = Tier::kHost, .gradients = Tier::kHost});
  const Plan on_ssd = lowered({.name = "offload-optimizer-ssd", .optimizer = Tier::kSsd, .gradients = Tier::kHost});
  // fp32 moments: 8 bytes a parameter fewer on the device; master and moments, 12 bytes, more on the host or the SSD.
  CHECK(peak(resident, SpaceKind::kDevice) - peak(offloaded, SpaceKind::kDevice) >= Bytes(8 * parameters));
  CHECK(peak(offloaded, SpaceKind::kHost) >= Bytes(12 * parameters));
  CHECK(peak(on_ssd, SpaceKind::kSsd) >= Bytes(12 * parameters));
  CHECK(peak(on_ssd, SpaceKind::kHost) < peak(offloaded, SpaceKind::kHost));
}

TEST_CASE("bytes that cross to the host and back are those of gradients and weights, once a step") {
  const Plan plan = lowered({.name = "offload-optimizer", .optimizer = Tier::kHost, .gradients = Tier::kHost});
  const FlatBody body = expand(plan, *plan.body("step"));
  Bytes to_host, to_device;
  for (const Instruction& instruction : body.list.instructions) {
    if (instruction.kind != InstructionKind::kCopy) continue;
    const bool leaves = plan.platform.at(instruction.queue).name == "d2h";
    (leaves ? to_host : to_device) += body.uses(instruction)[0].bytes;
  }
  const std::int64_t parameters = parameter_count(plan.spec);
  CHECK(to_host == Bytes(4 * parameters + 8));                     // fp32 gradients and one loss
  CHECK(to_device == Bytes(4 * parameters + 2 * (32 + 1) * 4));    // fp32 weights and 2 sequences of 33 int32 tokens
}

TEST_CASE("streamed weights cross to the device once for each pass over a block, and need not stay there") {
  const Plan resident = lowered({.name = "o", .recompute_every = 1, .optimizer = Tier::kHost, .gradients = Tier::kHost});
  const Plan streamed = lowered({.name = "stream", .recompute_every = 1, .parameters = Tier::kHost, .optimizer = Tier::kHost,
                                 .gradients = Tier::kHost});
  const ParameterLayout layout = lay_out_parameters(streamed.spec);
  Bytes to_device;
  const FlatBody body = expand(streamed, *streamed.body("step"));
  for (const Instruction& instruction : body.list.instructions) {
    if (streamed.platform.at(instruction.queue).name == "h2d") to_device += body.uses(instruction)[0].bytes;
  }
  // Tokens (2 · 33 · 4); the tied embedding for the first and for the last layer; the head's norm; each of 4 blocks
  // forward and once more for recomputation and backward together.
  const std::int64_t embedding = layout.at(layout.embedding()).elements;
  const std::int64_t head = layout.at(layout.head()).elements;
  const std::int64_t block = layout.at(layout.block(0)).elements;
  CHECK(to_device == Bytes(2 * 33 * 4 + 4 * (2 * embedding + head + 4 * 2 * block)));
  CHECK(peak(streamed, SpaceKind::kDevice) < peak(resident, SpaceKind::kDevice));
}

TEST_CASE("fp32 weights whose only copy is the optimizer's on the SSD cannot stream from the host") {
  const auto plan = lower_to_plan(small_model(Family::kGpt2), small_recipe(), tiny_platform(),
                                  {.name = "stream-ssd", .parameters = Tier::kHost, .optimizer = Tier::kSsd});
  REQUIRE_FALSE(plan);
  CHECK(plan.error().remedy.find("SSD") != std::string::npos);
}

TEST_CASE("equal blocks of the model share their templates") {
  const Plan shallow = lower_to_plan(small_model(Family::kGpt2, 6), small_recipe(), tiny_platform(), {.name = "resident"}).value();
  const Plan deep = lower_to_plan(small_model(Family::kGpt2, 48), small_recipe(), tiny_platform(), {.name = "resident"}).value();
  CHECK(deep.blocks.size() < 2 * shallow.blocks.size());
}

TEST_CASE("bounds that are asked for alone are those of the plan in full") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    for (const std::int64_t accumulate : {1, 3}) {
      Recipe recipe = small_recipe(accumulate);
      recipe.precision = Precision::kBf16Mixed;
      for (const Strategy& strategy : candidate_strategies(4, tiny_platform(), recipe.precision)) {
        const auto none = [](const Plan&, const FlatBody&) { return false; };
        const Plan full = lower_to_plan(small_model(family), recipe, tiny_platform(), strategy, {.worth_placing = none}).value();
        const Plan alone = lower_to_plan(small_model(family), recipe, tiny_platform(), strategy, {.bounds_only = true}).value();
        INFO(describe(strategy));
        REQUIRE(full.arenas.size() == alone.arenas.size());
        for (std::size_t i = 0; i < full.arenas.size(); ++i) CHECK(full.arenas[i].bytes == alone.arenas[i].bytes);
        CHECK(alone.bodies.empty());
      }
    }
  }
}

TEST_CASE("an SSD strategy on a machine without an SSD is refused with the remedy") {
  Platform platform = tiny_platform();
  platform.spaces.pop_back();
  platform.links.resize(2);
  const auto plan = lower_to_plan(small_model(Family::kGpt2), small_recipe(), platform,
                                  {.name = "offload-optimizer-ssd", .optimizer = Tier::kSsd});
  REQUIRE_FALSE(plan);
  CHECK(plan.error().remedy.find("--ssd") != std::string::npos);
}
