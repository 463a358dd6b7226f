#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/session/session_case.h"

// Mixtures of experts under every plan: routing, noise and dropout are numbers, and plans change none.
namespace plimsoll::test {
namespace {

/// A model of three blocks with experts of that gating in every `every`-th.
RunRequest expert_request(const TemporaryFolder& folder, GatingKind gating, std::int64_t every, std::int64_t steps = 20) {
  RunRequest request = small_request(folder, gating == GatingKind::kTopK ? Family::kMixtral : Family::kGpt2, steps);
  ExpertSpec& experts = request.spec.experts;
  experts = gating_defaults(gating);
  experts.count = 4;
  experts.every = every;
  experts.width = 24;
  experts.balance = 0.02;
  if (gating == GatingKind::kGShard) experts.groups = 2;
  if (gating == GatingKind::kSwitch) experts.dropout = 0.1;
  request.recipe.accumulate = 2;
  request.replace = true;
  return request;
}

void check_all_strategies(GatingKind gating, std::int64_t every, Precision precision = Precision::kFp32) {
  const TemporaryFolder folder;
  RunRequest request = expert_request(folder, gating, every);
  request.recipe.precision = precision;
  const RunOutcome resident = run_to_end(with_strategy(request, {}));
  const std::vector<double> expected = losses_of(resident);
  REQUIRE(expected.size() == 20);
  CHECK(expected.back() < expected.front());
  for (const std::int64_t threads : {1, 2}) {
    request.machine = own_machine(threads);
    for (const Strategy& strategy : executable_strategies()) {
      INFO(to_text(gating) << ", " << strategy.name << ": " << describe(strategy) << ", threads " << threads);
      const RunOutcome outcome = run_to_end(with_strategy(request, strategy));
      CHECK(losses_of(outcome) == expected);
      for (std::size_t i = 0; i < outcome.steps.size(); ++i) {
        CHECK(outcome.steps[i].expert_loss == resident.steps[i].expert_loss);
        CHECK(outcome.steps[i].expert_overflow == resident.steps[i].expert_overflow);
      }
    }
  }
}

}  // namespace

TEST_CASE("no strategy and no thread count changes a bit of the losses of a model with Switch experts") {
  check_all_strategies(GatingKind::kSwitch, 1);
}

TEST_CASE("no strategy and no thread count changes a bit of the losses of a model with GShard experts in every second block") {
  check_all_strategies(GatingKind::kGShard, 2);
}

TEST_CASE("no strategy and no thread count changes a bit of the losses of a model with noisy routers") {
  check_all_strategies(GatingKind::kNoisy, 1);
}

TEST_CASE("no strategy and no thread count changes a bit of a Mixtral's losses") { check_all_strategies(GatingKind::kTopK, 1); }

TEST_CASE("no strategy and no thread count changes a bit of the losses of experts in bf16, whose routers compute in fp32") {
  check_all_strategies(GatingKind::kGShard, 1, Precision::kBf16Mixed);
}

TEST_CASE("no strategy and no thread count changes a bit of the losses of experts in fp16 under a loss scale, or in bf16 alone") {
  check_all_strategies(GatingKind::kSwitch, 2, Precision::kFp16Mixed);
  check_all_strategies(GatingKind::kTopK, 1, Precision::kBf16);
}

TEST_CASE("a resumed run draws the noise, the second experts and the dropout that a run without a stop would have drawn") {
  for (const GatingKind gating : {GatingKind::kNoisy, GatingKind::kGShard, GatingKind::kSwitch}) {
    const TemporaryFolder folder;
    RunRequest request = expert_request(folder, gating, 1, 10);
    const std::vector<double> whole = losses_of(request);
    RunRequest first = request;
    first.output = folder.file("first.plimsoll");
    first.schedule.end_step = 4;
    run_to_end(first);
    request.resume = checkpoint_of(first.output);
    CHECK(losses_of(request) == std::vector<double>(whole.begin() + 4, whole.end()));
    request.recipe.seed += 1;
  }
}

TEST_CASE("every step reports its auxiliary loss and the share of choices that full experts refused") {
  const TemporaryFolder folder;
  RunRequest request = expert_request(folder, GatingKind::kSwitch, 1, 5);
  request.spec.experts.capacity = 0.5;  // half of the tokens have no room even when all experts are full
  for (const StepSummary& step : run_to_end(request).steps) {
    CHECK(step.expert_overflow >= 0.5);
    CHECK(step.expert_overflow < 1);
    CHECK(step.expert_loss >= 0.02 * 3 * 0.9);  // each of three blocks near its least, α, which even loads have
  }
  request.spec.experts.capacity = 4;  // room for all tokens at one of the four
  for (const StepSummary& step : run_to_end(request).steps) CHECK(step.expert_overflow == 0);
}

}  // namespace plimsoll::test
