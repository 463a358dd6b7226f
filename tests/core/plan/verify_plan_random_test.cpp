#include <catch2/catch.hpp>

#include "core/plan/order_conflicts.h"
#include "core/plan/verify_plan.h"
#include "tests/support/law_checker.h"
#include "tests/support/random_plan.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

/// 2·lcm(1, 2, 3) steps show every meeting of slots twice.
constexpr std::uint32_t kSteps = 12;

/// The same plan without dependency number `dropped` of its flat body.
Plan without_dependency(const PlanWriter& writer, std::size_t dropped) {
  PlanWriter w = writer;
  InstructionList& list = w.body().list;
  list.dependencies.erase(list.dependencies.begin() + static_cast<std::ptrdiff_t>(dropped));
  for (Instruction& instruction : list.instructions) {
    const std::size_t end = instruction.first_dependency + instruction.dependency_count;
    if (instruction.dependency_count > 0 && dropped >= instruction.first_dependency && dropped < end) {
      --instruction.dependency_count;
      if (instruction.dependency_count == 0) instruction.first_dependency = 0;
    } else if (instruction.dependency_count > 0 && instruction.first_dependency > dropped) {
      --instruction.first_dependency;
    }
  }
  return w.finish(5);
}

bool brute_force_accepts(const Plan& plan) {
  return !broken_law(plan, kSteps).has_value();
}

RandomPlanOptions options_of(std::uint64_t seed) {
  return {.seed = seed,
          .instructions = 8 + static_cast<std::uint32_t>(seed % 20),
          .buffers_per_space = 3 + static_cast<std::uint32_t>(seed % 4),
          .max_slots = 1 + static_cast<std::uint32_t>(seed % 3),
          .overlaps = seed % 2 == 0};
}

}  // namespace

TEST_CASE("verify_plan accepts every plan whose conflicts were ordered") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    RandomPlanOptions options = options_of(seed);
    options.instructions *= 8;
    const auto verdict = verify_plan(random_plan(options));
    INFO("seed " << seed << ": " << (verdict ? "" : verdict.error().text()));
    REQUIRE(verdict.has_value());
  }
}

TEST_CASE("ordering conflicts leaves no pair unordered, by brute force") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    REQUIRE(brute_force_accepts(random_plan(options_of(seed))));
  }
}

TEST_CASE("verify_plan and brute force agree on plans that lack one dependency") {
  int accepted = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const PlanWriter writer = random_body(options_of(seed));
    const std::size_t count = writer.body().list.dependencies.size();
    if (count == 0) continue;
    const Plan plan = without_dependency(writer, (seed * 7919) % count);
    const auto verdict = verify_plan(plan);
    INFO("seed " << seed << ": " << (verdict ? "" : verdict.error().text()));
    REQUIRE(verdict.has_value() == brute_force_accepts(plan));
    ++(verdict ? accepted : refused);
  }
  CHECK(accepted > 5);  // some random dependencies are not needed
  CHECK(refused > 100);
}

TEST_CASE("verify_plan and brute force agree on plans that nobody ordered") {
  int accepted = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    RandomPlanOptions options = options_of(seed);
    options.ordered = false;
    options.instructions = 2 + static_cast<std::uint32_t>(seed % 6);
    const Plan plan = random_plan(options);
    const auto verdict = verify_plan(plan);
    INFO("seed " << seed << ": " << (verdict ? "" : verdict.error().text()));
    REQUIRE(verdict.has_value() == brute_force_accepts(plan));
    ++(verdict ? accepted : refused);
  }
  CHECK(accepted > 5);
  CHECK(refused > 100);
}

TEST_CASE("a dependency that order_conflicts added is needed") {
  int dropped = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RandomPlanOptions options = options_of(seed);
    options.ordered = false;
    options.max_slots =
        1;  // with one step's pattern, the walk meets every need before anything that could make it idle
    options.ssd = false;
    PlanWriter writer = random_body(options);
    for (Instruction& instruction : writer.body().list.instructions)
      instruction.dependency_count = instruction.first_dependency = 0;
    writer.body().list.dependencies.clear();
    order_conflicts(writer.plan(), writer.body());
    const auto& added = writer.body().list.dependencies;
    for (std::size_t i = 0; i < added.size(); ++i) {
      if (added[i].distance != 0) continue;
      INFO("seed " << seed << ", dependency " << i);
      REQUIRE_FALSE(verify_plan(without_dependency(writer, i)).has_value());
      ++dropped;
    }
  }
  CHECK(dropped > 100);
}
