#include <catch2/catch.hpp>

#include "session/choose_plan.h"
#include "tests/session/session_case.h"

namespace plimsoll::test {

TEST_CASE("the comparison's parts add up to the measured step, and the plan touches the memory that it said") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder);
  request.warm_up_steps = 3;
  const RunOutcome outcome = run_to_end(request);
  REQUIRE(outcome.comparison);
  Nanoseconds predicted;
  Nanoseconds measured;
  for (const ComparedPart& part : outcome.comparison->parts) {
    predicted += part.predicted;
    measured += part.measured;
  }
  CHECK(predicted == outcome.comparison->predicted_step);
  CHECK(measured == outcome.comparison->measured_step);
  CHECK(outcome.comparison->matched_fraction == 1.0);
  for (const ComparedMemory& space : outcome.comparison->memory) CHECK(space.predicted == space.measured);
}

TEST_CASE("the comparison read back from the run file is the one that the run gave") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder);
  request.evaluation_data = request.data;
  request.schedule.evaluate_every = 7;  // pauses, so that times must run on through them
  const RunOutcome outcome = run_to_end(request);
  const auto file = read_run_file(request.output);
  REQUIRE(file);
  const NamedTrace* measured = file->trace("run");
  const NamedTrace* predicted = file->trace("predicted");
  REQUIRE(measured != nullptr);
  REQUIRE(predicted != nullptr);
  const auto again = compare_traces(*file->plan(measured->trace.plan_digest), predicted->trace, measured->trace);
  REQUIRE(again);
  CHECK(again->predicted_step == outcome.comparison->predicted_step);
  CHECK(again->measured_step == outcome.comparison->measured_step);
  CHECK(again->measured_step_index == outcome.comparison->measured_step_index);
}

TEST_CASE("a prediction that was calibrated on the very plan that ran is not compared") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 6);
  request.warm_up_steps = 3;
  Strategy on_drive = warm_up_strategy();  // what the warm-up tries first on a machine with a drive
  on_drive.parameters = Tier::kDevice;
  on_drive.optimizer = Tier::kSsd;
  auto plan = lower_to_plan(request.spec, request.recipe, request.machine, on_drive);
  REQUIRE(plan);
  request.plan = std::move(*plan);
  const RunOutcome outcome = run_to_end(request);
  CHECK_FALSE(outcome.comparison);
  CHECK_THAT(outcome.not_compared, Catch::Contains("sample"));
}

TEST_CASE("a plan for a GPU, for more cores or for more memory is refused by name before anything runs") {
  const TemporaryFolder folder;
  RunRequest request = with_strategy(small_request(folder), {});
  const auto refusal = [&](const char* words) {
    const auto refused = run_session(request, {}, std::atomic<bool>(false));
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().text(), Catch::Contains(words));
    CHECK(files_in(folder) == std::vector<std::string>{"text.txt"});
  };
  SECTION("a GPU") {
    for (Processor& processor : request.plan->platform.processors) processor.kind = ProcessorKind::kGpu;
    request.plan->platform.name = "RTX 2060 6GB";
    refusal("RTX 2060 6GB");
  }
  SECTION("more cores") {
    for (Processor& processor : request.plan->platform.processors) processor.cores = 64;
    refusal("made for 64 cores, this computer offers 1");
  }
  SECTION("more memory") {
    for (Arena& arena : request.plan->arenas) arena.bytes = kGiB;
    refusal("gpu0 needs 1.00 GiB");
  }
  SECTION("no evaluation in it") {
    request.plan->bodies.pop_back();
    request.evaluation_data = request.data;
    refusal("no body 'evaluation'");
  }
}

}  // namespace plimsoll::test
