// The move from one plan to another in the middle of a training.
#include <catch2/catch.hpp>

#include <array>
#include <filesystem>

#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/migrate_plan.h"
#include "tests/support/state_layouts.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_executor.h"

namespace plimsoll {
namespace {

Plan plan_of(const Strategy& strategy) {
  auto plan = lower_to_plan(tiny_spec(), tiny_recipe(), tiny_machine(), strategy, {.evaluation = true});
  REQUIRE(plan);
  return std::move(*plan);
}

std::vector<double> and_then(std::vector<double> losses, const std::vector<double>& more) {
  losses.insert(losses.end(), more.begin(), more.end());
  return losses;
}

}  // namespace

TEST_CASE("a training that changes its plan on the way has bit for bit the losses of one that does not") {
  const TemporaryFolder folder;
  const std::vector<double> expected = train(*executor_of(plan_of({}), {.threads = 1}), 0, 5);
  std::uint64_t jitter = 1;
  for (const Strategy& first : test::state_layouts()) {
    for (const Strategy& second : test::state_layouts()) {
      const auto way = std::array{IoWay::kRegisteredRing, IoWay::kRing, IoWay::kThreads}[jitter % 3];
      CAPTURE(first.name, second.name, static_cast<int>(way), jitter);
      const Plan old = plan_of(first);
      const Plan next = plan_of(second);
      const std::int64_t at = 1 + static_cast<std::int64_t>(jitter % 2);
      const DriveOptions drive{.folder = folder.path(), .way = way};
      const auto executor = executor_of(old, {.threads = 2, .jitter_seed = jitter++, .drive = drive});
      const std::vector<double> before = train(*executor, 0, at);
      const auto migration = migrate_plan(old, next, at, {.leg = Bytes(4096), .staged_legs = 2});
      REQUIRE(migration);
      const auto moved = executor->migrate(migration->plan, next);
      INFO((moved ? std::string() : moved.error().text()));
      REQUIRE(moved);
      CHECK(and_then(before, train(*executor, at, 5 - at)) == expected);
      CHECK(executor->check_touched());
      CHECK(executor->evaluate(kText, 1));
      for (const SpacePeak& peak : executor->touched()) {
        const Bytes arena = next.arena_bytes(peak.space);
        CHECK((second.update_in_backward ? peak.bytes <= arena : peak.bytes == arena));  // what no step clipped is not redone
      }
    }
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("there and back again, the arenas hold what they held") {
  const TemporaryFolder folder;
  const std::vector<Strategy> way = test::state_layouts();
  auto plan = plan_of(way[0]);
  const auto executor = executor_of(plan, {.threads = 1, .drive = {.folder = folder.path()}});
  const auto whole = [&] {
    std::vector<std::vector<std::byte>> states;
    for (const StateBinding& state : plan_of({}).state) {
      const auto bytes = executor->state(state.kind, state.group);
      states.emplace_back(bytes.begin(), bytes.end());
    }
    return states;
  };
  train(*executor, 0, 2);
  const auto before = whole();
  for (const std::size_t to : {3, 1, 4, 6, 5, 2, 0}) {
    const Plan next = plan_of(way[to]);
    REQUIRE(executor->migrate(migrate_plan(plan, next, 2)->plan, next));
    plan = next;
    CHECK(whole() == before);
  }
}

TEST_CASE("a migration for which there is no memory says so, and the training goes on with its plan") {
  const Plan old = plan_of({});
  const Plan next = plan_of(test::state_layouts()[1]);
  const std::vector<double> expected = train(*executor_of(old, {.threads = 1}), 0, 4);
  const auto executor = executor_of(old, {.threads = 1});
  const std::vector<double> before = train(*executor, 0, 2);
  Plan greedy = migrate_plan(old, next, 2)->plan;
  for (MemorySpace& space : greedy.platform.spaces) space.usable = Bytes(kGiB.count << 20);
  for (Arena& arena : greedy.arenas) arena.bytes = Bytes(kGiB.count << 20);
  const auto refused = executor->migrate(greedy, next);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().what, Catch::Contains("are missing"));
  CHECK(and_then(before, train(*executor, 2, 2)) == expected);
}

TEST_CASE("what is no migration between the two plans is refused by name") {
  const Plan old = plan_of({});
  const Plan next = plan_of(test::state_layouts()[1]);
  const Plan migration = migrate_plan(old, next, 0)->plan;
  const auto executor = executor_of(old, {.threads = 1});
  const auto refusal = [&](const Plan& wrong) { return executor->migrate(wrong, next).error().text(); };
  CHECK_THAT(refusal(next), Catch::Contains("no body named 'migrate'"));
  Plan wrong = migrate_plan(old, old, 0)->plan;
  CHECK_THAT(refusal(wrong), Catch::Contains("arena is shorter than a plan's"));
  wrong = migration;
  wrong.blocks[0].list.instructions[0] = {.kind = InstructionKind::kMarker, .queue = QueueId(0)};
  CHECK_THAT(refusal(wrong), Catch::Contains("only copies, and this is a marker"));
  wrong = migration;
  wrong.platform.spaces.pop_back();
  wrong.platform.links.clear();
  CHECK_FALSE(executor->migrate(wrong, next));
}

}  // namespace plimsoll
