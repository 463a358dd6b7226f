#include <catch2/catch.hpp>

#include "gui/timeline/build_timeline.h"
#include "gui/timeline/emphasis.h"
#include "gui/timeline/find_events.h"
#include "gui/timeline/neighbours.h"
#include "gui/timeline/scene.h"
#include "gui/timeline/selection_statistics.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/des/simulate.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

struct Drawn {
  std::shared_ptr<const Plan> plan;
  Trace trace;
  SharedTimeline timeline;
};

/// A small model's step on the tiny machine, lowered and simulated as the product does.
Drawn simulated(std::uint32_t steps = 3) {
  Drawn drawn;
  const auto plan = lower_to_plan(test::small_model(Family::kGpt2, 2), test::small_recipe(2), test::tiny_platform(),
                                  {.recompute_every = 1, .optimizer = Tier::kHost, .gradients = Tier::kHost});
  REQUIRE(plan);
  drawn.plan = std::make_shared<const Plan>(*plan);
  const auto trace = simulate(*drawn.plan, "step", CatalogueCostModel(), {.steps = steps});
  REQUIRE(trace);
  drawn.trace = *trace;
  drawn.timeline = build_timeline(drawn.plan, drawn.trace);
  return drawn;
}

/// Two lanes without a plan: "a" at [0, 10) and [20, 50), "b" at [10, 20); "b" at [0, 40) on the second track.
SharedTimeline hand_made() {
  auto timeline = std::make_shared<Timeline>();
  timeline->names = {"alpha", "beta"};
  timeline->labels = {{0, 0}, {1, 3}};
  timeline->tracks.push_back({"compute", QueueKind::kCompute, std::vector<EventLane>(1)});
  timeline->tracks.push_back({"idle", QueueKind::kCopy, std::vector<EventLane>(1)});
  timeline->tracks.push_back({"h2d", QueueKind::kCopy, std::vector<EventLane>(2)});
  timeline->tracks[0].lanes[0].add({0, 10, 0, 0});
  timeline->tracks[0].lanes[0].add({10, 20, 1, 0});
  timeline->tracks[0].lanes[0].add({20, 50, 0, 0});
  timeline->tracks[2].lanes[1].add({0, 40, 1, 0});
  for (auto& track : timeline->tracks) {
    for (auto& lane : track.lanes) lane.finish();
  }
  timeline->bounds = {0, 50};
  return timeline;
}

}  // namespace

TEST_CASE("a timeline has every event of the trace once, at its time, on its queue") {
  const Drawn drawn = simulated();
  REQUIRE(drawn.trace.events.size() > 100);
  CHECK(drawn.timeline->event_count() + drawn.timeline->skipped.size() == drawn.trace.events.size());
  for (const TraceEvent& event : drawn.trace.events) {
    const auto ref = find_event(*drawn.timeline, event.step, event.instruction);
    INFO("step " << event.step << " instruction " << event.instruction);
    REQUIRE(ref);
    CHECK(event_at(*drawn.timeline, *ref).start == event.start.count);
    CHECK(event_at(*drawn.timeline, *ref).end == event.end.count);
    CHECK(ref->track == drawn.timeline->body.list.instructions[event.instruction].queue.index);
  }
}

TEST_CASE("a trace that became a timeline becomes the same trace again") {
  const Drawn drawn = simulated();
  const Trace again = trace_of_steps(*drawn.timeline, 0, 2);
  REQUIRE(again.events.size() == drawn.trace.events.size());
  for (std::size_t i = 0; i < again.events.size(); ++i) {
    CHECK(again.events[i].instruction == drawn.trace.events[i].instruction);
    CHECK(again.events[i].start == drawn.trace.events[i].start);
  }
}

TEST_CASE("tracks are stacked from the top, empty ones left out, lanes of a wide one together") {
  // One lane of 22 pixels and a gap of 6; then two of 9 from 28 on.
  const TimelineScene scene = lay_out({{hand_made(), 0, ""}});
  REQUIRE(scene.rows.size() == 3);
  CHECK(scene.rows[0].top == 0);
  CHECK(scene.rows[1].track == 2);
  CHECK(scene.rows[1].top == 28);
  CHECK(scene.rows[2].top == 37);
  CHECK(scene.rows[1].track_height == 18);
}

TEST_CASE("two sources lie one under the other, queue by queue, on one axis") {
  // The second one's origin is 10 ns later: its events stand 10 ns further left.
  const TimelineScene scene = lay_out({{hand_made(), 0, "predicted"}, {hand_made(), 10, "measured"}});
  CHECK(scene.rows[0].source == 0);
  CHECK(scene.rows[1].source == 1);
  CHECK(scene.rows[1].track == 0);
  CHECK(scene.rows[1].top == 23);
  CHECK(scene.bounds == TimeBounds{-10, 50});
  CHECK(scene_times(scene, {1, {0, 0, 1}}).start == 0);
}

TEST_CASE("queues of two sources lie together by their names, wherever each source has them, and the first of them is named") {
  auto other = std::make_shared<Timeline>(*hand_made());
  std::swap(other->tracks[0], other->tracks[2]);  // h2d, idle, compute
  other->tracks[1].name = "cpu";
  other->tracks[1].lanes[0].add({5, 9, 1, 0});
  other->tracks[1].lanes[0].finish();
  const TimelineScene scene = lay_out({{hand_made(), 0, "First"}, {other, 0, "Second"}});
  std::vector<std::string> order;
  for (const SceneRow& row : scene.rows) {
    const std::string& name = scene.sources[row.source].timeline->tracks[row.track].name;
    if (row.first_of_track) order.push_back(name + (row.source == 0 ? " 1" : " 2") + (row.named ? " named" : ""));
  }
  CHECK(order == std::vector<std::string>{"compute 1 named", "compute 2", "h2d 1 named", "h2d 2", "cpu 2 named"});
}

TEST_CASE("the event under the pointer is the one that covers it") {
  const TimelineScene scene = lay_out({{hand_made(), 0, ""}});
  const TimeScale scale = fitted({0, 50}, 100, 500);  // 10 pixels a nanosecond
  const auto at = [&](double x, double y) { return event_under(scene, scale, x, y); };
  REQUIRE(at(250, 5));  // 15 ns
  CHECK(at(250, 5)->ref == EventRef{0, 0, 1});
  CHECK(at(350, 5)->ref == EventRef{0, 0, 2});
  CHECK_FALSE(at(250, 25));          // between tracks
  CHECK(at(250, 40)->ref.lane == 1);  // the second lane of the wide track
  CHECK_FALSE(at(550, 40));           // nothing there at 45 ns
}

TEST_CASE("an event narrower than a pixel is found beside the pointer, and of several the longest") {
  auto timeline = std::make_shared<Timeline>();
  timeline->names = {"x"};
  timeline->labels = {{0, 0}};
  timeline->tracks.push_back({"compute", QueueKind::kCompute, std::vector<EventLane>(1)});
  timeline->tracks[0].lanes[0].add({1000, 1001, 0, 0});
  timeline->tracks[0].lanes[0].add({1050, 1060, 0, 0});
  timeline->tracks[0].lanes[0].finish();
  timeline->bounds = {0, 50'000};
  const TimelineScene scene = lay_out({{timeline, 0, ""}});
  const auto found = event_under(scene, fitted({0, 50'000}, 0, 500), 11, 5);  // 100 ns a pixel: events near x = 10
  REQUIRE(found);
  CHECK(found->ref.index == 1);
}

TEST_CASE("a range adds up what lies in it, clipped at its edges") {
  // [5, 30): alpha 5 of the first and 10 of the third, 15 in two; beta 10 and, on the copies, 25.
  const SharedTimeline timeline = hand_made();
  const SelectionStatistics sum = select_range(*timeline, 5, 30);
  REQUIRE(sum.names.size() == 2);
  CHECK(timeline->names[sum.names[0].name] == "beta");
  CHECK(sum.names[0].total == 35);
  CHECK(sum.names[0].count == 2);
  CHECK(sum.names[0].longest == 25);
  CHECK(sum.names[1].total == 15);
  REQUIRE(sum.tracks.size() == 2);
  CHECK(sum.tracks[0].share == 1.0);  // computes all the time
  CHECK(sum.tracks[1].busy == 25);
}

TEST_CASE("searching goes from match to match in order of time, and round") {
  const SharedTimeline timeline = hand_made();
  const EventQuery query(*timeline, "BET");
  const auto first = next_match(*timeline, query, std::nullopt);
  REQUIRE(first);
  CHECK(*first == EventRef{2, 1, 0});
  const auto second = next_match(*timeline, query, first);
  CHECK(*second == EventRef{0, 0, 1});
  CHECK(*next_match(*timeline, query, second) == *first);
  CHECK(*previous_match(*timeline, query, first) == *second);
  CHECK(count_matches(*timeline, query, second).matches == 2);
  CHECK(count_matches(*timeline, query, second).position == 2);
  CHECK(EventQuery(*timeline, "gamma").empty());
  CHECK(EventQuery(*timeline, "").empty());
}

TEST_CASE("a search can ask for a layer and for an instruction") {
  const Drawn drawn = simulated();
  const auto& instructions = drawn.timeline->body.list.instructions;
  const EventQuery layer(*drawn.timeline, "linear layer:1");
  REQUIRE_FALSE(layer.empty());
  for (std::uint32_t id = 0; id < instructions.size(); ++id) {
    if (layer.matches(id)) CHECK(instructions[id].layer == 1);
  }
  const EventQuery one(*drawn.timeline, "#7");
  CHECK(one.labels() == 1);
  CHECK(one.matches(7));
}

TEST_CASE("neighbours of an event are its dependencies, both ways, in their steps") {
  const Drawn drawn = simulated();
  const DependencyIndex index(drawn.timeline->body);
  std::size_t arrows = 0;
  for (std::uint32_t id = 0; id < drawn.timeline->body.size(); ++id) {
    const auto ref = find_event(*drawn.timeline, 1, id);
    REQUIRE(ref);
    for (const EventRef& before : index.of(*drawn.timeline, *ref).before) {
      const LaneEvent other = event_at(*drawn.timeline, before);
      CHECK(other.end <= event_at(*drawn.timeline, *ref).start);
      const auto back = index.of(*drawn.timeline, before).after;
      CHECK(std::find(back.begin(), back.end(), *ref) != back.end());
      ++arrows;
    }
  }
  CHECK(arrows > 10);
}

TEST_CASE("the critical path's lanes never overlap and end with the step") {
  const Drawn drawn = simulated();
  const TimelineScene scene = lay_out({{drawn.timeline, 0, ""}});
  const Emphasis path = critical_emphasis(scene, 0, 1);
  REQUIRE(path.rows.size() == scene.rows.size());
  std::int64_t last = 0;
  for (const EventLane& lane : path.rows) {
    for (std::size_t i = 0; i < lane.size(); ++i) {
      last = std::max(last, lane.end(i));
      if (i > 0) CHECK(lane.end(i - 1) <= lane.start(i));
    }
  }
  CHECK(last == drawn.timeline->step(1)->end);
}

TEST_CASE("a memory curve's highest point of all is the trace's peak, at any zoom") {
  const Drawn drawn = simulated();
  REQUIRE_FALSE(drawn.timeline->curves.empty());
  for (const MemoryCurve& curve : drawn.timeline->curves) {
    std::int64_t most = 0;
    for (const CurvePoint& point : curve.points()) most = std::max(most, point.total());
    CHECK(curve.points()[curve.peak()].total() == most);
    const std::size_t seen = curve.highest(drawn.timeline->bounds.begin, drawn.timeline->bounds.end);
    REQUIRE(seen != MemoryCurve::npos);
    CHECK(curve.points()[seen].total() == most);
  }
}

TEST_CASE("a stretch of a curve begins with what was live before it") {
  // 5 bytes from 0, 9 from 10, 2 from 20: [12, 15) still holds 9; [20, 30) holds 2; [5, 25) 9.
  std::vector<CurvePoint> points(3);
  points[0] = {.time = 0, .bytes = {5}};
  points[1] = {.time = 10, .bytes = {9}};
  points[2] = {.time = 20, .bytes = {2}};
  const MemoryCurve curve("gpu0", 10, 12, points);
  CHECK(curve.peak() == 1);
  CHECK(curve.highest(12, 15) == 1);
  CHECK(curve.highest(20.5, 30) == 2);
  CHECK(curve.highest(5, 25) == 1);
}

TEST_CASE("a curve knows every category that is ever live, at its peak or not") {
  CurvePoint peak{.time = 0};
  peak.bytes[static_cast<std::size_t>(CurvePart::kParameters)] = 8;
  CurvePoint later{.time = 5};
  later.bytes[static_cast<std::size_t>(CurvePart::kWorkspace)] = 3;
  const MemoryCurve curve("gpu0", 8, 16, {peak, later});
  CHECK(curve.peak() == 0);
  CHECK(curve.has(CurvePart::kParameters));
  CHECK(curve.has(CurvePart::kWorkspace));
  CHECK_FALSE(curve.has(CurvePart::kGradients));
}

TEST_CASE("recorded memory is drawn as it was recorded, what was there before the step too") {
  Drawn drawn = simulated(1);
  const std::string space = drawn.plan->platform.spaces.front().name;
  // 5 bytes of parameters throughout, activations from 0 to 3 and back: 5, 8, 5.
  const std::vector<MemorySample> samples{{.time = Nanoseconds(0), .space = space, .category = "parameters", .bytes = Bytes(5)},
                                          {.time = Nanoseconds(10), .space = space, .category = "activations", .bytes = Bytes(3)},
                                          {.time = Nanoseconds(10), .space = space + " allocator", .category = "reserved", .bytes = Bytes(99)},
                                          {.time = Nanoseconds(20), .space = space, .category = "activations", .bytes = Bytes(0)}};
  const auto curves = recorded_curves(*drawn.plan, samples);
  REQUIRE(curves.size() == 1);
  CHECK(curves.front().space() == space);
  REQUIRE(curves.front().points().size() == 3);
  CHECK(curves.front().points()[0].total() == 5);
  CHECK(curves.front().points()[1].total() == 8);
  CHECK(curves.front().peak() == 1);
  const SharedTimeline timeline = build_timeline(drawn.plan, drawn.trace, "step", samples);
  REQUIRE(timeline->curves.size() == 1);
  CHECK(timeline->curves.front().packed() == 8);
}
