#include <catch2/catch.hpp>

#include "core/plan/expand.h"
#include "tests/support/random_plan.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

std::vector<Segment> stretches(const FlatBody& flat, std::uint32_t length) {
  std::vector<Segment> segments;
  for (std::uint32_t first = 0; first < flat.size(); first += length) {
    segments.push_back({.first = first, .micro_batch = 0, .layer = -1, .name = "s"});
  }
  return segments;
}

/// Layer l reads buffer l and writes buffer l + 1, after the layer before.
PlanWriter layers(std::uint32_t count) {
  PlanWriter w;
  std::vector<BufferId> x;
  for (std::uint32_t i = 0; i <= count; ++i)
    x.push_back(w.buffer("x" + std::to_string(i), "gpu0", Bytes(256) * i, Bytes(256)));
  for (std::uint32_t i = 0; i < count; ++i) {
    std::vector<Dependency> before;
    if (i > 0) before.push_back(after(i - 1));
    const auto id = w.launch("compute", OpKind::kActivation, Phase::kForward, {read(x[i]), write(x[i + 1])}, before);
    w.body().list.instructions[id].layer = static_cast<std::int32_t>(i);
  }
  return w;
}

}  // namespace

TEST_CASE("equal layers over consecutive buffers fold into one repeated call") {
  PlanWriter w = layers(5);
  std::vector<Segment> segments;
  for (std::uint32_t i = 0; i < 5; ++i) segments.push_back({i, 0, static_cast<std::int32_t>(i), "layer"});
  Plan plan = w.plan();
  const Body body = fold(plan, "step", w.body(), segments);
  // Layer 0 depends on nothing and so is a block of its own; layers 1 to 4 are one call, repeated 4 times.
  REQUIRE(body.calls.size() == 2);
  CHECK(plan.blocks.size() == 2);
  const Call& rest = body.calls[1];
  CHECK(rest.repeat == 4);
  CHECK(rest.layer == 1);
  CHECK(rest.layer_stride == 1);
  CHECK(rest.bindings == std::vector<Binding>{{BufferId(1), 1}, {BufferId(2), 1}});
  CHECK(rest.ports == std::vector<Port>{{0, 1}});
  CHECK(instruction_count(plan, body) == 5);
  CHECK(expand(plan, body).list == w.body().list);
}

TEST_CASE("a stretch that runs against the others is no repetition of them") {
  PlanWriter w;
  std::vector<BufferId> x;
  for (std::uint32_t i = 0; i < 4; ++i)
    x.push_back(w.buffer("x" + std::to_string(i), "gpu0", Bytes(256) * i, Bytes(256)));
  for (const std::uint32_t i : {0u, 1u, 3u})
    w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(x[i])});
  const Plan plan = w.finish(1);
  // Buffers 0, 1 set the stride to 1; 3 is not 2, so it begins a new call of the same block.
  REQUIRE(plan.bodies[0].calls.size() == 2);
  CHECK(plan.bodies[0].calls[0].repeat == 2);
  CHECK(plan.blocks.size() == 1);
  CHECK(expand(plan, plan.bodies[0]).list == w.body().list);
}

TEST_CASE("other micro-batches are other calls of the same block") {
  PlanWriter w;
  const BufferId x = w.buffer("x", "gpu0", Bytes(0), Bytes(256));
  for (int i = 0; i < 4; ++i) w.launch("compute", OpKind::kRopeBackward, Phase::kBackward, {update(x)});
  w.body().micro_batches = {0, 0, 1, 1};
  Plan plan = w.plan();
  const Body body = fold(plan, "step", w.body(), std::vector<Segment>{{0, 0, -1, "a"}, {2, 1, -1, "b"}});
  CHECK(body.calls.size() == 2);
  CHECK(plan.blocks.size() == 1);
  CHECK(expand(plan, body).micro_batches == w.body().micro_batches);
}

TEST_CASE("bodies of one plan share equal blocks") {
  PlanWriter w = layers(3);
  Plan plan = w.plan();
  plan.bodies.push_back(fold(plan, "step", w.body(), stretches(w.body(), 3)));
  const std::size_t blocks = plan.blocks.size();
  plan.bodies.push_back(fold(plan, "evaluation", w.body(), stretches(w.body(), 3)));
  CHECK(plan.blocks.size() == blocks);
}

TEST_CASE("layers below the segment's, and none at all, come back from folding") {
  PlanWriter w = layers(4);
  auto& instructions = w.body().list.instructions;
  instructions[0].layer = 7;
  instructions[1].layer = -1;
  instructions[2].layer = 2;
  Plan plan = w.plan();
  const Body body = fold(plan, "step", w.body(), std::vector<Segment>{{0, 0, 5, "a"}, {3, 0, -1, "b"}});
  CHECK(expand(plan, body).list == w.body().list);
}

TEST_CASE("expanding what was folded gives the flat body back") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const PlanWriter w = random_body({.seed = seed, .instructions = 10 + static_cast<std::uint32_t>(seed % 50)});
    const FlatBody& flat = w.body();
    for (const std::uint32_t length : {1u, 2u, 7u}) {
      Plan plan = w.plan();
      const Body body = fold(plan, "step", flat, stretches(flat, length));
      const FlatBody back = expand(plan, body);
      INFO("seed " << seed << ", stretches of " << length);
      REQUIRE(back.list == flat.list);
      REQUIRE(back.micro_batches == flat.micro_batches);
      REQUIRE(instruction_count(plan, body) == flat.size());
    }
  }
}
