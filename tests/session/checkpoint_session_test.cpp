#include <catch2/catch.hpp>

#include <fstream>

#include "tests/session/session_case.h"

namespace plimsoll::test {
namespace {

std::vector<double> after(const std::vector<double>& losses, std::size_t steps) {
  return {losses.begin() + static_cast<std::ptrdiff_t>(steps), losses.end()};
}

double held_out_loss(const RunRequest& request) {
  const auto file = read_run_file(request.output);
  if (!file) FAIL(file.error().text());
  REQUIRE(file->evaluations.size() == 1);
  return file->evaluations[0].loss;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a resumed run has bit for bit the losses of a run that was not stopped, under every strategy") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    const TemporaryFolder folder;
    RunRequest request = small_request(folder, family, 12);
    request.recipe.schedule = LrSchedule::kCosine;  // the rate depends on the step, so a wrong step number shows
    request.recipe.warmup_steps = 3;
    request.recipe.total_steps = 12;
    const std::vector<double> whole = losses_of(request);

    RunRequest first = request;
    first.output = folder.file("first.plimsoll");
    first.schedule.end_step = 5;
    CHECK(losses_of(first) == std::vector<double>(whole.begin(), whole.begin() + 5));

    request.resume = checkpoint_of(first.output);
    request.replace = true;
    for (const Strategy& strategy : executable_strategies()) {
      INFO(strategy.name << ": " << describe(strategy));
      const RunOutcome resumed = run_to_end(with_strategy(request, strategy));
      CHECK(losses_of(resumed) == after(whole, 5));
      CHECK(resumed.measured.steps.front().step == 5);
    }
  }
}

TEST_CASE("a checkpoint of another recipe is refused with what differs, and nothing is written") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 3);
  run_to_end(request);
  request.resume = checkpoint_of(request.output);
  request.output = folder.file("second.plimsoll");
  request.schedule.end_step = 6;
  request.recipe.learning_rate = 0.5;
  const auto before = files_in(folder);
  const auto refused = run_session(request, {}, std::atomic<bool>(false));
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().what, Catch::Contains("lr="));
  CHECK(files_in(folder) == before);
}

TEST_CASE("a run that has all its steps already is refused and leaves the older run file as it is") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 3);
  run_to_end(request);
  request.resume = checkpoint_of(request.output);
  request.replace = true;
  const auto refused = run_session(request, {}, std::atomic<bool>(false));
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().what, Catch::Contains("already holds 3 steps"));
  const auto file = read_run_file(request.output);
  REQUIRE(file);
  CHECK(file->trace("run")->trace.steps.size() == 3);
}

TEST_CASE("weights that were saved in fp32 start a run exactly where the training had brought them") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    const TemporaryFolder folder;
    RunRequest request = small_request(folder, family, 6);
    request.evaluation_data = request.data;
    request.schedule.evaluate_every = 6;
    request.save = folder.file("weights.safetensors");
    run_to_end(request);
    const double trained = held_out_loss(request);

    RunRequest still = request;  // a rate of zero: the held-out loss is that of the weights it began with
    still.output = folder.file("still.plimsoll");
    still.recipe.learning_rate = 0;
    still.save = folder.file("again.safetensors");
    run_to_end(still);
    CHECK(held_out_loss(still) != trained);
    still.init = request.save;
    still.replace = true;
    run_to_end(still);
    CHECK(held_out_loss(still) == trained);
    CHECK(bytes_of(still.save) == bytes_of(request.save));
  }
}

}  // namespace plimsoll::test
