#include "session/warm_up.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "executor/data/token_source.h"
#include "session/choose_plan.h"
#include "session/train.h"
#include "sim/planner/check_shares.h"
#include "tests/session/session_case.h"

namespace plimsoll::test {
namespace {

TEST_CASE("on a GPU half of the steps are traced, and 16 at most") {
  CHECK(traced_on_device(64, 100) == 16);
  CHECK(traced_on_device(64, 5) == 3);
  CHECK(traced_on_device(2, 100) == 2);
}

TEST_CASE("a warm-up's steps are the run's first, and what plan is searched after it changes no loss") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder);
  const std::vector<double> expected = losses_of(request);
  request.replace = true;
  request.warm_up_steps = 3;
  const RunOutcome outcome = run_to_end(request);
  CHECK(losses_of(outcome) == expected);
  CHECK(outcome.measured.steps.front().step == 3);
  const auto file = read_run_file(request.output);
  REQUIRE(file);
  REQUIRE(file->steps().size() == 20);
  for (std::uint32_t step = 0; step < 20; ++step) {
    CHECK(file->steps()[step].step == step);
    CHECK(file->steps()[step].loss == expected[step]);
  }
  CHECK(file->trace("warm-up")->trace.steps.size() == 3);
}

TEST_CASE("with a warm-up, too, runs from weights and from checkpoints go on bit for bit") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 12);
  const std::vector<double> whole = losses_of(request);
  request.replace = true;
  request.schedule.end_step = 5;
  request.save = folder.file("weights.safetensors");
  losses_of(request);
  RunRequest rest = request;
  rest.save.clear();
  rest.resume = checkpoint_of(request.output);
  rest.output = folder.file("rest.plimsoll");
  rest.schedule.end_step = 12;
  rest.warm_up_steps = 3;
  CHECK(losses_of(rest) == std::vector<double>(whole.begin() + 5, whole.end()));
  rest.resume.clear();
  rest.init = request.save;
  const std::vector<double> warmed = losses_of(rest);
  rest.warm_up_steps = 0;
  CHECK(losses_of(rest) == warmed);
}

TEST_CASE("a warm-up takes at most half of a run, and none of one that is too short for both") {
  const TemporaryFolder folder;
  for (const auto& [steps, warm] : {std::pair{2, 0}, {3, 2}, {5, 2}, {6, 3}, {8, 4}, {20, 4}}) {
    RunRequest request = small_request(folder, Family::kGpt2, steps);
    request.warm_up_steps = 4;
    request.replace = true;
    const RunOutcome outcome = run_to_end(request);
    CAPTURE(steps);
    CHECK(outcome.steps.size() == static_cast<std::size_t>(steps));
    CHECK(outcome.measured.steps.size() == static_cast<std::size_t>(steps - warm));
  }
}

TEST_CASE("on a GPU no block of a muon run is left to the CPU, whose sums would be others, from the warm-up on") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder);
  request.recipe.optimizer = OptimizerKind::kMuon;
  const std::int64_t blocks = request.spec.blocks();
  CHECK_FALSE(device_updates_all(cautious_plan(request)->strategy, blocks));
  request.backend = Backend::kCuda;
  CHECK(device_updates_all(cautious_plan(request)->strategy, blocks));
  const auto chosen = choose_plan(request, *request.costs, {});
  REQUIRE(chosen);
  CHECK(device_updates_all(chosen->plan.strategy, blocks));
  request.exact_strategy = Strategy{.optimizer = Tier::kHost, .gradients = Tier::kHost};
  const auto refused = choose_plan(request, *request.costs, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().remedy.find("device_update_blocks") != std::string::npos);
}

TEST_CASE("where there is memory for the cautious plan and no more, a run ends within it, with the same losses") {
  const TemporaryFolder folder;
  RunRequest request = without_drive(small_request(folder, Family::kGpt2, 6));
  const std::vector<double> expected = losses_of(request);
  request.replace = true;
  request.warm_up_steps = 3;
  const auto cautious = cautious_plan(request);
  REQUIRE(cautious);
  for (MemorySpace& space : request.machine.spaces) space.usable = cautious->arena_bytes(*request.machine.space(space.kind));
  const RunOutcome outcome = run_to_end(request);
  CHECK(losses_of(outcome) == expected);
  for (const SpacePeak& peak : outcome.measured.peaks) CHECK(peak.bytes <= request.machine.at(peak.space).usable);
}

TEST_CASE("where states fit only divided over both memories, the warm-up runs a plan that divides them, with the same losses") {
  const TemporaryFolder folder;
  RunRequest request = without_drive(small_request(folder, Family::kGpt2, 6));
  request.spec.layers = 8;
  const std::vector<double> expected = losses_of(request);
  request.replace = true;
  request.warm_up_steps = 3;
  const Bytes all = cautious_plan(request)->arena_bytes(*request.machine.space(SpaceKind::kHost));  // with all states there
  for (MemorySpace& space : request.machine.spaces) space.usable = Bytes(all.count * 3 / 4);
  const auto divided = cautious_plan(request);
  REQUIRE(divided);
  CHECK(divided->strategy.name != "warm-up");
  CHECK(losses_of(request) == expected);
}

TEST_CASE("a trial has the losses of the training, and leaves nothing but its run file") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 8);
  request.warm_up_steps = 3;
  const std::vector<double> expected = losses_of(request);
  request.trial = true;
  request.output = folder.file("trial.plimsoll");
  const RunOutcome outcome = run_to_end(request);
  CHECK(losses_of(outcome) == expected);
  CHECK(outcome.checkpoint.empty());
  for (const std::string& name : files_in(folder)) CHECK((name == "trial.plimsoll" || name.find("trial") == std::string::npos));
}

TEST_CASE("the warm-up tells how often gradients were clipped") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 8);
  request.recipe.clip = 1e-3;  // below every norm
  request.warm_up_steps = 4;
  const auto tokens = open_token_source(request.data, request.spec.vocabulary, request.recipe.sequence);
  REQUIRE(tokens);
  CHECK(warm_up(request, **tokens, std::atomic<bool>(false))->odds.clips == 1.0);
  request.recipe.clip = 1e6;  // above every norm
  CHECK(warm_up(request, **tokens, std::atomic<bool>(false))->odds.clips == 0.0);
}

TEST_CASE("a warm-up samples a drive's traffic both ways where the run is bound to the drive or memory is short, else none") {
  const TemporaryFolder folder;
  const auto sampled = [](const RunRequest& request) {
    run_to_end(request);
    const auto file = read_run_file(request.output);
    REQUIRE(file);
    const auto has = [&](std::string_view link) {
      return std::any_of(file->cost_samples.begin(), file->cost_samples.end(),
                         [&](const CostSample& sample) { return sample.key.find(link) != std::string::npos; });
    };
    CHECK(has("ssd->host") == has("host->ssd"));
    return has("ssd->host");
  };
  RunRequest request = small_request(folder, Family::kGpt2, 6);
  request.warm_up_steps = 3;
  request.replace = true;
  CHECK_FALSE(sampled(request));
  CHECK(sampled(with_strategy(request, {.name = "bound", .optimizer = Tier::kSsd, .gradients = Tier::kHost})));
  const Plan in_memory = *cautious_plan(request);
  for (MemorySpace& space : request.machine.spaces) {
    if (space.kind != SpaceKind::kSsd) space.usable = in_memory.arena_bytes(*in_memory.platform.space(SpaceKind::kHost)) - Bytes(1);
  }
  CHECK(sampled(request));
}

TEST_CASE("two recipes that differ give different losses") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder);
  const std::vector<double> losses = losses_of(request);
  request.replace = true;
  request.recipe.seed = 2;
  CHECK(losses_of(request) != losses);
}

TEST_CASE("evaluations and checkpoints in between change no loss") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder);
  const std::vector<double> expected = losses_of(request);
  request.replace = true;
  request.evaluation_data = request.data;
  request.schedule.evaluate_every = 3;
  request.schedule.save_every = 4;
  request.warm_up_steps = GENERATE(0, 4, 6);
  CHECK(losses_of(request) == expected);
  const auto file = read_run_file(request.output);
  REQUIRE(file);
  CHECK(file->evaluations.size() == 7);  // after 3, 6, 9, 12, 15, 18 and, at the end, 20
  CHECK(file->checkpoints.size() == 5);  // after 4, 8, 12, 16 and, at the end, 20
}

TEST_CASE("held-out losses are bitwise the same with a warm-up and without, also where states have two versions") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 9);
  request.replace = true;
  request.evaluation_data = request.data;
  request.schedule.evaluate_every = 3;
  const auto held_out = [](const RunRequest& wanted) {
    run_to_end(wanted);
    std::vector<double> losses;
    const auto file = read_run_file(wanted.output);
    REQUIRE(file);
    for (const Evaluation& evaluation : file->evaluations) losses.push_back(evaluation.loss);
    return losses;
  };
  const std::vector<double> expected = held_out(request);
  CHECK(expected.size() == 3);
  request.warm_up_steps = 4;
  const Strategy resident{.name = "resident"};
  const Strategy versions{.name = "versions", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .update_in_backward = true};
  for (const Strategy& strategy : {resident, versions}) CHECK(held_out(with_strategy(request, strategy)) == expected);
}

}  // namespace
}  // namespace plimsoll::test
