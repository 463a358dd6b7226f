#include <catch2/catch.hpp>

#include "gui/timeline/build_timeline.h"
#include "gui/timeline/place_details.h"
#include "gui/timeline/place_strip.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/des/simulate.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

/// What a test writes down of an instruction: block, what it does, buffers used, and when it ran.
struct Written {
  InstructionKind kind;
  std::int32_t block;
  std::vector<std::uint32_t> buffers;  ///< of a transfer: source, destination
  std::int64_t begin;
  std::int64_t end;
};

struct Drawn {
  Plan plan;
  FlatBody body;
  Trace trace;
};

/// Buffers: 0 weights in host memory, 1 a slot on the device, 2 an activation on the device, 3 its place in host memory.
Drawn drawn(const std::vector<Written>& written) {
  Drawn all;
  all.plan.platform = test::tiny_platform();
  const SpaceId gpu = test::space_named(all.plan.platform, "gpu0"), host = test::space_named(all.plan.platform, "host");
  all.plan.buffers = {{.name = "weights", .space = host, .category = TensorKind::kParameter, .persistent = true},
                      {.name = "slot", .space = gpu, .category = TensorKind::kParameter},
                      {.name = "kept", .space = gpu, .category = TensorKind::kActivation},
                      {.name = "away", .space = host, .category = TensorKind::kActivation}};
  for (const Written& one : written) {
    Instruction instruction{.kind = one.kind,
                            .layer = one.block,
                            .first_use = static_cast<std::uint32_t>(all.body.list.uses.size()),
                            .use_count = static_cast<std::uint32_t>(one.buffers.size())};
    for (const std::uint32_t buffer : one.buffers) all.body.list.uses.push_back({.target = buffer});
    all.trace.events.push_back({0, static_cast<std::uint32_t>(all.body.size()), Nanoseconds(one.begin), Nanoseconds(one.end)});
    all.body.list.instructions.push_back(instruction);
  }
  return all;
}

struct Stay {
  std::int64_t begin;
  std::int64_t end;
  PlaceState state;

  bool operator==(const Stay&) const = default;
};

std::vector<Stay> stays(const EventLane& lane) {
  std::vector<Stay> all;
  for (std::size_t i = 0; i < lane.size(); ++i)
    all.push_back({lane.start(i), lane.end(i), static_cast<PlaceState>(lane.label(i))});
  return all;
}

constexpr auto kCopy = InstructionKind::kCopy;
constexpr auto kLaunch = InstructionKind::kLaunch;

}  // namespace

TEST_CASE("weights that are fetched for a kernel are in host memory, under way, in use, and back where they came from") {
  // fetched at [10, 20), two kernels at [20, 30) and [40, 50), fetched again for the backward pass at [70, 80), used till 90
  const Drawn all = drawn({{InstructionKind::kMarker, -1, {}, 0, 5}, {kCopy, 3, {0, 1}, 10, 20}, {kLaunch, 3, {1}, 20, 30},
                           {kLaunch, 3, {1, 1}, 40, 50}, {kCopy, 3, {0, 1}, 70, 80}, {kLaunch, 3, {1}, 80, 90},
                           {InstructionKind::kMarker, -1, {}, 90, 100}});
  const auto strips = place_strips(all.plan, all.body, all.trace);
  REQUIRE(strips.size() == 1);
  CHECK(strips[0].part == CurvePart::kParameters);
  CHECK(strips[0].blocks == std::vector<std::int32_t>{3});
  CHECK(stays(strips[0].lanes[0]) ==
        std::vector<Stay>{{0, 10, PlaceState::kHost}, {10, 20, PlaceState::kArriving}, {20, 30, PlaceState::kInUse},
                          {30, 40, PlaceState::kDevice}, {40, 50, PlaceState::kInUse}, {50, 70, PlaceState::kHost},
                          {70, 80, PlaceState::kArriving}, {80, 90, PlaceState::kInUse}, {90, 100, PlaceState::kHost}});
}

TEST_CASE("an activation that waits in host memory is made, leaves, comes back, is used, and is no more") {
  const Drawn all = drawn({{kLaunch, 0, {2}, 0, 10},
                           {kCopy, 0, {2, 3}, 12, 20},
                           {kCopy, 0, {3, 2}, 50, 60},
                           {kLaunch, 0, {2}, 60, 70},
                           {InstructionKind::kMarker, -1, {}, 70, 90}});
  const auto strips = place_strips(all.plan, all.body, all.trace);
  REQUIRE(strips.size() == 1);
  CHECK(strips[0].part == CurvePart::kActivations);
  CHECK(stays(strips[0].lanes[0]) ==
        std::vector<Stay>{{0, 10, PlaceState::kInUse}, {10, 12, PlaceState::kDevice}, {12, 20, PlaceState::kLeaving},
                          {20, 50, PlaceState::kHost}, {50, 60, PlaceState::kArriving}, {60, 70, PlaceState::kInUse}});
}

TEST_CASE("data of which no block ever moves has no strip") {
  const Drawn all = drawn({{kLaunch, 0, {2}, 0, 10}, {kLaunch, 1, {1}, 10, 20}});
  CHECK(place_strips(all.plan, all.body, all.trace).empty());
}

TEST_CASE("of a simulated plan that streams weights every block is somewhere at every moment, and as long on its way as copied") {
  const auto plan = lower_to_plan(
      test::small_model(Family::kGpt2, 3), test::small_recipe(), test::tiny_platform(),
      {.recompute_every = 1, .parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost});
  REQUIRE(plan);
  const auto trace = simulate(*plan, "step", CatalogueCostModel(), {.steps = 2});
  REQUIRE(trace);
  const SharedTimeline timeline = build_timeline(std::make_shared<const Plan>(*plan), *trace);
  const auto weights = std::find_if(timeline->strips.begin(), timeline->strips.end(),
                                    [](const PlaceStrip& s) { return s.part == CurvePart::kParameters; });
  REQUIRE(weights != timeline->strips.end());
  REQUIRE(weights->blocks == std::vector<std::int32_t>{0, 1, 2});
  for (const EventLane& lane : weights->lanes) {
    std::int64_t at = static_cast<std::int64_t>(timeline->bounds.begin);
    for (const Stay& stay : stays(lane)) {
      CHECK(stay.begin == at);
      at = stay.end;
    }
    CHECK(at == static_cast<std::int64_t>(timeline->bounds.end));
  }
  std::int64_t copied = 0, arriving = 0;  // of the middle block, whose uses and fetches never overlap
  for (const TraceEvent& event : trace->events) {
    const Instruction& instruction = timeline->body.list.instructions[event.instruction];
    if (instruction.kind != InstructionKind::kCopy || instruction.layer != 1) continue;
    const Use& to = timeline->body.uses(instruction)[1];
    const bool weight = plan->buffers[to.target].category == TensorKind::kParameter;
    if (weight && plan->platform.at(plan->buffers[to.target].space).kind == SpaceKind::kDevice)
      copied += event.end.count - event.start.count;
  }
  for (const Stay& stay : stays(weights->lanes[1])) arriving += stay.state == PlaceState::kArriving ? stay.end - stay.begin : 0;
  CHECK(copied > 0);
  CHECK(arriving == copied);
}

TEST_CASE("a strip is drawn beneath the curves, and the stay under the pointer is found") {
  const auto plan = lower_to_plan(
      test::small_model(Family::kGpt2, 3), test::small_recipe(), test::tiny_platform(),
      {.recompute_every = 1, .parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost});
  REQUIRE(plan);
  const auto trace = simulate(*plan, "step", CatalogueCostModel(), {.steps = 2});
  REQUIRE(trace);
  const SharedTimeline timeline = build_timeline(std::make_shared<const Plan>(*plan), *trace);
  const TimelineScene scene = lay_out({{timeline, 0, ""}});
  REQUIRE_FALSE(scene.strips.empty());
  const SceneStrip& first = scene.strips.front();
  CHECK(first.top >= scene.curves.back().top + scene.curves.back().height);
  CHECK(first.top + first.height <= scene.height);
  const TimeScale scale = fitted(scene.bounds, 0, 1000);
  const auto place = place_under(scene, scale, 500, first.top + 1);
  REQUIRE(place);
  CHECK(place->lane == 0);
  const LaneEvent stay = place_event(scene, *place);
  CHECK(static_cast<double>(stay.start) <= scale.time_at(501));
  CHECK(static_cast<double>(stay.end) > scale.time_at(500));
  CHECK_FALSE(place_under(scene, scale, 500, first.top - 1));
  CHECK(lay_out({{timeline, 0, "a"}, {timeline, 0, "b"}}).strips.empty());
}
