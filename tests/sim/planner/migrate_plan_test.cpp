#include "sim/planner/migrate_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "sim/des/simulate.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/planner/search_plan.h"
#include "sim/planner/sequence_moves.h"
#include "tests/sim/planner/state_memory.h"
#include "tests/support/plan_writer.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

Plan lowered(const Strategy& strategy, Precision precision = Precision::kFp32) {
  Recipe recipe = small_recipe();
  recipe.precision = precision;
  return lower_to_plan(small_model(Family::kGpt2), recipe, tiny_platform(), strategy, {.evaluation = true}).value();
}

/// Where a plan keeps its states.
std::vector<std::pair<SpaceId, Bytes>> places_of_state(const Plan& plan) {
  std::vector<std::pair<SpaceId, Bytes>> places;
  for (const StateBinding& state : plan.state) places.emplace_back(plan.at(state.buffer).space, plan.at(state.buffer).offset);
  return places;
}

/// Of the search's strategies, and the cautious ones that a run begins with, a plan of every layout.
std::vector<Plan> layouts(Precision precision) {
  std::vector<Strategy> all = candidate_strategies(4, tiny_platform(), precision);
  for (const Tier parameters : {Tier::kDevice, Tier::kHost, Tier::kSsd}) {
    if (parameters == Tier::kHost && precision == Precision::kFp32) continue;  // the SSD's weights are the only copy
    all.push_back({.name = "cautious", .parameters = parameters, .optimizer = Tier::kSsd, .gradients = Tier::kHost,
                   .overlap = false});
  }
  std::vector<Plan> plans;
  for (const Strategy& strategy : all) {
    Plan plan = lowered(strategy, precision);
    const auto same = [&](const Plan& other) { return places_of_state(other) == places_of_state(plan); };
    if (std::none_of(plans.begin(), plans.end(), same)) plans.push_back(std::move(plan));
  }
  return plans;
}

/// A state of `bytes` that moves between offsets of memories named by letters: d(evice), h(ost), s(sd).
StateMove move(char from, std::int64_t from_offset, char to, std::int64_t to_offset, std::int64_t bytes) {
  const auto place = [&](char space, std::int64_t offset) {
    const std::string_view letters = "dhs";
    const Bytes room = space == 's' ? align_up(Bytes(bytes), kStorageAlignment) : Bytes(bytes);
    return StatePlace{SpaceId(letters.find(space)), Bytes(offset), room};
  };
  return {"state", TensorKind::kMaster, place(from, from_offset), place(to, to_offset), Bytes(bytes)};
}

/// The legs as text: "0 straight [0, 4096)".
std::vector<std::string> legs_of(const std::vector<StateMove>& moves, std::uint32_t slots, std::int64_t leg = 8192) {
  const auto legs = sequence_moves(moves, {slots, Bytes(leg)}, {{false, false, true}, Bytes(leg)});
  if (!legs) return {"nothing"};
  std::vector<std::string> texts;
  for (const MoveLeg& one : *legs) {
    const char* way = one.way == MoveLeg::Way::kStraight ? "straight" : one.way == MoveLeg::Way::kStage ? "stage" : "deliver";
    texts.push_back(std::to_string(one.move) + " " + way + " [" + std::to_string(one.offset.count) + ", " +
                    std::to_string((one.offset + one.bytes).count) + ")");
  }
  return texts;
}

using Legs = std::vector<std::string>;

}  // namespace

TEST_CASE("a move waits for those whose old bytes lie in its new place") {
  // 0 goes to [4096, 8192), which 1 leaves first.
  CHECK(legs_of({move('d', 0, 'd', 4096, 4096), move('d', 4096, 'd', 8192, 4096)}, 0) ==
        Legs{"1 straight [0, 4096)", "0 straight [0, 4096)"});
}

TEST_CASE("two states that change places need one slot, and without one they cannot") {
  const std::vector<StateMove> swap{move('d', 0, 'h', 0, 4096), move('h', 0, 'd', 0, 4096)};
  CHECK(legs_of(swap, 1) == Legs{"1 stage [0, 4096)", "0 straight [0, 4096)", "1 deliver [0, 4096)"});
  CHECK(legs_of(swap, 0) == Legs{"nothing"});
}

TEST_CASE("a state that moves up a little goes from its end, through a slot, in legs as long as a slot") {
  // 20000 bytes from 0 to 256: [12288, 20000) is the longest end of whole blocks that a slot of 8192 holds.
  CHECK(legs_of({move('h', 0, 'h', 256, 20000)}, 1) ==
        Legs{"0 stage [12288, 20000)", "0 deliver [12288, 20000)", "0 stage [4096, 12288)", "0 deliver [4096, 12288)",
             "0 stage [0, 4096)", "0 deliver [0, 4096)"});
}

TEST_CASE("a state that moves up by more than a leg needs no slot") {
  // From 0 to 8192: the end's new place [16384, 20480) holds nothing old, then [8192, 16384) holds nothing old any more.
  CHECK(legs_of({move('h', 0, 'h', 8192, 12288)}, 1) == Legs{"0 straight [4096, 12288)", "0 straight [0, 4096)"});
}

TEST_CASE("what comes from a drive or goes to one passes through a slot") {
  CHECK(legs_of({move('s', 0, 'd', 0, 10000), move('d', 16384, 's', 16384, 4096)}, 1) ==
        Legs{"0 stage [0, 8192)", "0 deliver [0, 8192)", "0 stage [8192, 10000)", "0 deliver [8192, 10000)",
             "1 stage [0, 4096)", "1 deliver [0, 4096)"});
}

TEST_CASE("one copy that becomes two leaves its place only when both have it") {
  // 0 and 1 read [0, 4096) of the device; 2 wants that place.
  CHECK(legs_of({move('h', 0, 'd', 0, 4096), move('d', 0, 'd', 8192, 4096), move('d', 0, 'h', 4096, 4096)}, 0) ==
        Legs{"1 straight [0, 4096)", "2 straight [0, 4096)", "0 straight [0, 4096)"});
}

TEST_CASE("a migration between equal layouts is empty") {
  const Plan cautious = lowered({.name = "cautious", .optimizer = Tier::kHost, .overlap = false});
  const auto migration = migrate_plan(cautious, lowered({.name = "offload-optimizer", .optimizer = Tier::kHost}), 4);
  REQUIRE(migration);
  CHECK(migration->moved == Bytes(0));
  CHECK(migration->staging == Bytes(0));
  CHECK(migration->plan.bodies.at(0).name == "migrate");
  CHECK(expand(migration->plan, migration->plan.bodies[0]).size() == 0);
  CHECK(verify_plan(migration->plan));
}

TEST_CASE("from any layout to any other a migration obeys the law of plans, keeps every byte, and passes neither arena") {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16Mixed, Precision::kFp16Mixed}) {
    const std::vector<Plan> plans = layouts(precision);
    for (const Plan& old : plans) {
      for (const Plan& next : plans) {
        CAPTURE(to_text(precision), describe(old.strategy), describe(next.strategy));
        const auto migration = migrate_plan(old, next, 4);
        REQUIRE(migration);
        const auto verified = verify_plan(migration->plan);
        INFO((verified ? std::string() : verified.error().text()));
        REQUIRE(verified);
        REQUIRE(first_lost_state(old, next, 4, migration->plan, 1) == "");
        for (const Arena& arena : migration->plan.arenas) {
          const bool is_host = migration->plan.platform.at(arena.space).kind == SpaceKind::kHost;
          const Bytes larger = std::max(old.arena_bytes(arena.space), next.arena_bytes(arena.space));
          CHECK(arena.bytes <= larger + (is_host ? migration->staging + kStorageAlignment : Bytes(0)));
        }
      }
    }
  }
}

TEST_CASE("random migrations, tight ones too, keep every byte") {
  std::mt19937_64 random(20240607);
  int moved = 0;
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const RandomMigration drawn = draw_migration(random);
    const auto migration = migrate_plan(drawn.old, drawn.next, drawn.steps_done, drawn.options);
    if (!migration) {
      CHECK(migration.error().kind == ErrorKind::kInfeasible);
      CHECK(drawn.spare < 5 * kStorageAlignment);  // of which the area's alignment takes up to one
      ++refused;
      continue;
    }
    const auto verified = verify_plan(migration->plan);
    INFO((verified ? std::string() : verified.error().text()));
    REQUIRE(verified);
    REQUIRE(first_lost_state(drawn.old, drawn.next, drawn.steps_done, migration->plan, random()) == "");
    moved += migration->moved.count > 0 ? 1 : 0;
  }
  CHECK(moved > 300);
  CHECK(refused < 60);
}

TEST_CASE("a migration between trainings of different numbers, or different machines, is refused by name") {
  const Plan plan = lowered({});
  Plan other = plan;
  other.recipe.learning_rate = 1;
  CHECK_THAT(migrate_plan(plan, other, 0).error().text(), Catch::Contains("different numbers"));
  other = plan;
  other.platform.spaces.pop_back();
  CHECK_THAT(migrate_plan(plan, other, 0).error().text(), Catch::Contains("different memories"));
  other = plan;
  other.state.pop_back();
  CHECK_THAT(migrate_plan(other, plan, 0).error().text(), Catch::Contains("keeps no second_moments of"));
}

TEST_CASE("a copy within host memory takes what one core needs to read and write its bytes") {
  // The two cores reach 2e10 bytes/s together, one 1e10, of which a copy is half: 5e9. 5 MB take 1 ms.
  PlanWriter w;
  const auto from = w.buffer("from", "host", Bytes(0), Bytes(5000192));
  const auto to = w.buffer("to", "host", Bytes(5000192), Bytes(5000192));
  const Bytes bytes(5000000);
  w.copy(InstructionKind::kCopy, "cpu", {from, Access::kRead, Bytes(0), bytes}, {to, Access::kWrite, Bytes(0), bytes});
  const auto trace = simulate(w.finish(), "step", CatalogueCostModel(), {.steps = 1});
  REQUIRE(trace);
  CHECK(trace->events.at(0).end - trace->events.at(0).start == Nanoseconds(1000000));
}

TEST_CASE("the simulator times a migration: bytes over the links that they take") {
  const Plan old = lowered({.name = "offload-optimizer-ssd", .optimizer = Tier::kSsd, .gradients = Tier::kHost});
  const auto migration = migrate_plan(old, lowered({}), 4);
  REQUIRE(migration);
  const auto trace = simulate(migration->plan, kMigrateBody, CatalogueCostModel(), {.steps = 1});
  REQUIRE(trace);
  // Both moments come from the SSD at 2 GB/s; nothing is faster than that.
  const std::int64_t moments = migration->moved.count;
  CHECK(trace->steps.at(0).end > from_seconds(static_cast<double>(moments) * 0.6 / 2e9));
}
