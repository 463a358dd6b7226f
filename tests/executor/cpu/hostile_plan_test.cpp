// Plans that obey the law and lie about a kernel: they are refused before anything runs, or run within their buffers.
#include <catch2/catch.hpp>

#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/tiny_training.h"

namespace plimsoll {
namespace {

const RepeatedText kText("the quick brown fox jumps. ");

Plan plan_of(const Strategy& strategy = {}, Family family = Family::kGpt2) {
  auto plan = lower_to_plan(tiny_spec(family), tiny_recipe(), tiny_machine(), strategy, {});
  if (!plan) FAIL(plan.error().text());
  return std::move(*plan);
}

/// Empty when the plan was refused in words, else what happened.
std::string outcome_of(const Plan& plan) {
  const auto executor = CpuExecutor::create(plan, {.threads = 1});
  if (!executor) return executor.error().what.empty() ? "refused without words" : "";
  (*executor)->initialize();
  try {
    const auto trace = (*executor)->run_steps({.first_step = 0, .steps = 1, .first_traced_step = 0}, kText);
    if (!trace) return "stopped: " + trace.error().what;
  } catch (const EnvironmentError& error) {
    return "stopped: " + error.error().what;
  }
  const auto inside = (*executor)->check_touched();
  return inside ? "ran" : "left its buffers: " + inside.error().text();
}

using Size = std::int64_t OpShape::*;
constexpr Size kSizes[] = {&OpShape::rows,     &OpShape::inputs,   &OpShape::outputs,  &OpShape::sequence,
                           &OpShape::heads,    &OpShape::kv_heads, &OpShape::head_dim, &OpShape::positions,
                           &OpShape::stride,   &OpShape::terms,    &OpShape::experts,  &OpShape::choices,
                           &OpShape::capacity, &OpShape::groups};

/// Tries every size of every kernel larger; a kernel that does not look at a size may run.
void enlarge_sizes(const Plan& plan, int& refused, int& ran) {
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    for (std::size_t i = 0; i < std::size(kSizes); ++i) {
      const Size size = kSizes[i];
      for (const std::int64_t value : {plan.kernels[k].shape.*size * 2 + 1, std::int64_t{1} << 40}) {
        Plan changed = plan;
        changed.kernels[k].shape.*size = value;
        INFO(to_text(plan.kernels[k].kind) << ", size " << i << " = " << value);
        const std::string outcome = outcome_of(changed);
        CHECK((outcome.empty() || outcome == "ran"));
        ++(outcome.empty() ? refused : ran);
      }
    }
  }
}

}  // namespace

TEST_CASE("a plan of a model for which there are no kernels is refused, though its kernels would run") {
  Plan capped = plan_of({}, Family::kLlama);
  REQUIRE(outcome_of(capped) == "ran");
  capped.spec.score_cap = 50;
  CHECK(outcome_of(capped).empty());
}

TEST_CASE("a kernel larger than its operands is refused before anything runs") {
  int refused = 0, ran = 0;
  enlarge_sizes(plan_of(), refused, ran);
  enlarge_sizes(plan_of({.name = "all away",
                         .recompute_every = 1,
                         .parameters = Tier::kHost,
                         .optimizer = Tier::kHost,
                         .gradients = Tier::kHost},
                        Family::kLlama),
                refused, ran);
  CHECK(refused > 200);
  CHECK(ran > 20);  // sizes that the kernel does not have
}

TEST_CASE("a kernel of another kind, or with a shorter use, is refused before anything runs") {
  const Plan plan = plan_of();
  int refused = 0, others = 0;
  for (std::size_t k = 0; k < plan.kernels.size(); ++k) {
    for (int kind = 0; kind <= static_cast<int>(kLastOpKind); ++kind) {
      if (kind == static_cast<int>(plan.kernels[k].kind)) continue;
      Plan changed = plan;
      changed.kernels[k].kind = static_cast<OpKind>(kind);
      INFO(to_text(plan.kernels[k].kind) << " as " << to_text(changed.kernels[k].kind));
      const std::string outcome = outcome_of(changed);
      CHECK((outcome.empty() || outcome == "ran" || outcome.starts_with("stopped: ")));
      ++(outcome.empty() ? refused : others);
    }
  }
  CHECK(refused > 20 * others);
  refused = 0;
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    for (std::size_t u = 0; u < plan.blocks[b].list.uses.size(); u += 5) {
      Plan changed = plan;
      Use& use = changed.blocks[b].list.uses[u];
      use.bytes = Bytes(use.bytes.count / 2);
      INFO("block " << b << ", use " << u);
      const std::string outcome = outcome_of(changed);
      CHECK((outcome.empty() || outcome == "ran"));
      refused += outcome.empty();
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("state of a group that the model does not have is refused") {
  Plan plan = plan_of();
  plan.state[0].group = GroupId(4'000'000);
  const auto executor = CpuExecutor::create(plan, {.threads = 1});
  REQUIRE_FALSE(executor);
  CHECK_THAT(executor.error().what, Catch::Contains("state of group 4000000"));
}

TEST_CASE("numbers that are no tokens stop an embedding before it looks anything up") {
  Plan plan = plan_of();
  for (Block& block : plan.blocks) {
    for (Instruction& i : block.list.instructions) {  // tokens are never copied to the device
      const bool copies_tokens = i.kind == InstructionKind::kCopy && i.phase == Phase::kLoad;
      if (copies_tokens) i.kind = InstructionKind::kMarker, i.use_count = 0;
    }
  }
  const std::string outcome = outcome_of(plan);  // the embedding reads the canary
  CHECK_THAT(outcome, Catch::Contains("stopped: token") || Catch::Equals(""));
}

}  // namespace plimsoll
