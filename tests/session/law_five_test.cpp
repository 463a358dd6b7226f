#include <catch2/catch.hpp>

#include <algorithm>
#include <array>

#include "executor/data/token_source.h"
#include "formats/corpus/token_file.h"
#include "formats/text/read_text_file.h"
#include "session/warm_up.h"
#include "tests/session/session_case.h"

namespace plimsoll::test {
namespace {

/// The text as packed rows in which two thirds of the tokens count.
std::string write_masked(const TemporaryFolder& folder, const std::string& text, std::int64_t sequence) {
  const std::string bytes = read_text_file(text, Bytes(1 << 22)).value();
  const std::size_t row = static_cast<std::size_t>(sequence) + 1;
  TokenFileWriter writer(folder.file("masked.bin"), 256, sequence + 1, "");
  for (std::size_t at = 0; at + row <= bytes.size(); at += row) {
    std::vector<std::int32_t> tokens;
    std::vector<bool> counts;
    for (std::size_t i = at; i < at + row; ++i) {
      tokens.push_back(static_cast<unsigned char>(bytes[i]));
      counts.push_back(i % 3 != 0);
    }
    writer.append(tokens, counts);
  }
  writer.finish();
  return folder.file("masked.bin");
}

/// The losses of every strategy at one and two threads are those of the resident plan at one thread.
void check_all_strategies(Family family, std::int64_t accumulate, bool masked = false) {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, family);
  if (masked) request.data = write_masked(folder, request.data, request.recipe.sequence);
  request.recipe.accumulate = accumulate;
  request.replace = true;
  const std::vector<double> expected = losses_of(with_strategy(request, {}));
  REQUIRE(expected.size() == 20);
  CHECK(*std::min_element(expected.begin(), expected.end()) < 0.6 * expected.front());  // it learns, so the comparison below is not one of constants
  for (const std::int64_t threads : {1, 2}) {
    request.machine = own_machine(threads);
    for (const Strategy& strategy : executable_strategies()) {
      INFO(strategy.name << ": " << describe(strategy) << ", threads " << threads);
      CHECK(losses_of(with_strategy(request, strategy)) == expected);
    }
  }
}

}  // namespace

TEST_CASE("no strategy and no thread count changes a bit of a GPT's losses") {
  check_all_strategies(Family::kGpt2, 1);
  check_all_strategies(Family::kGpt2, 3);
}

TEST_CASE("no strategy and no thread count changes a bit of losses over packed rows with a mask") {
  check_all_strategies(Family::kGpt2, 2, true);
}

TEST_CASE("no strategy and no thread count changes a bit of a Llama's losses") {
  check_all_strategies(Family::kLlama, 1);
  check_all_strategies(Family::kLlama, 3);
}

TEST_CASE("no strategy and no thread count changes a bit of the losses of models with other norms, rotations and blocks") {
  for (const Family family : {Family::kQwen2, Family::kQwen3, Family::kGemma, Family::kPhi}) check_all_strategies(family, 2);
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

TEST_CASE("from the warm-up to every strategy, on every way to the drive, the state moves without losing a bit") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    const TemporaryFolder folder;
    RunRequest request = small_request(folder, family, 8);
    const std::vector<double> expected = losses_of(request);
    request.replace = true;
    request.warm_up_steps = 3;
    int way = 0;
    for (const bool with_drive : {true, false}) {
      for (const Strategy& strategy : executable_strategies()) {
        RunRequest to = with_strategy(request, strategy);
        if (!with_drive && to.plan->arena_bytes(*to.machine.space(SpaceKind::kSsd)).count > 0) continue;
        if (!with_drive) to = with_strategy(without_drive(request), strategy);
        to.drive.way = std::array{IoWay::kRegisteredRing, IoWay::kRing, IoWay::kThreads}[way++ % 3];
        INFO(strategy.name << ": " << describe(strategy) << ", drive " << with_drive);
        const RunOutcome outcome = run_to_end(to);
        CHECK(losses_of(outcome) == expected);
        if (!outcome.changed || outcome.changed->moved.count == 0) continue;
        CHECK(outcome.changed->after_steps == 3);
        const auto file = read_run_file(to.output);
        REQUIRE(file);
        CHECK(file->trace("migration")->body == "migrate");
        CHECK(file->trace("predicted migration")->trace.events.size() == file->trace("migration")->trace.events.size());
      }
    }
  }
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

TEST_CASE("a warm-up on a machine with a drive samples its traffic both ways") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 6);
  request.warm_up_steps = 3;
  run_to_end(request);
  const auto file = read_run_file(request.output);
  REQUIRE(file);
  const auto sampled = [&](std::string_view link) {
    return std::any_of(file->cost_samples.begin(), file->cost_samples.end(),
                       [&](const CostSample& sample) { return sample.key.find(link) != std::string::npos; });
  };
  CHECK(sampled("ssd->host"));
  CHECK(sampled("host->ssd"));
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

}  // namespace plimsoll::test
