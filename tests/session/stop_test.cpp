#include <catch2/catch.hpp>
#include <functional>

#include "tests/session/session_case.h"

namespace plimsoll::test {

TEST_CASE("a run that is interrupted keeps its steps, its trace and a checkpoint, and says so") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 40);
  const std::vector<double> whole = losses_of(request);

  request.output = folder.file("stopped.plimsoll");
  std::atomic<bool> stop{false};
  RunWatcher watcher;
  watcher.on_step = [&](const StepSummary& step, std::int64_t) { stop = stop || step.step == 6; };
  const auto stopped = run_session(request, watcher, stop);
  REQUIRE(stopped);
  CHECK(stopped->interrupted);
  const std::size_t done = stopped->measured.steps.size();
  REQUIRE(done >= 7);
  REQUIRE(done < 40);

  const auto file = read_run_file(request.output);
  REQUIRE(file);
  const NamedTrace* trace = file->trace("run");
  REQUIRE(trace != nullptr);
  REQUIRE(trace->trace.steps.size() == done);
  CHECK(trace->trace.steps.back().end == stopped->measured.steps.back().end);
  CHECK(trace->trace.events.size() == stopped->measured.events.size());
  REQUIRE(file->log.size() == 1);
  CHECK(file->log[0].text == "interrupted after " + std::to_string(done) + " of 40 steps");
  REQUIRE(file->checkpoints.size() == 1);
  CHECK(file->checkpoints[0].step == done);

  REQUIRE(stopped->comparison);
  REQUIRE(stopped->comparison->process);
  CHECK(stopped->comparison->process->events == stopped->comparison->process->measured_events);

  request.resume = stopped->checkpoint;
  request.output = folder.file("resumed.plimsoll");
  CHECK(losses_of(request) == std::vector<double>(whole.begin() + static_cast<std::ptrdiff_t>(done), whole.end()));
}

TEST_CASE("a run that is interrupted in its warm-up, or just after it, keeps those steps and goes on bit for bit") {
  for (const std::uint32_t at : {0u, 4u, 7u}) {  // of a warm-up of 8 steps; after 7 the next plan is chosen
    const TemporaryFolder folder;
    RunRequest request = small_request(folder, Family::kGpt2, 30);
    const std::vector<double> whole = losses_of(request);
    request.output = folder.file("stopped.plimsoll");
    request.warm_up_steps = 8;
    std::atomic<bool> stop{false};
    RunWatcher watcher;
    watcher.on_step = [&](const StepSummary& step, std::int64_t) { stop = stop || step.step == at; };
    const auto stopped = run_session(request, watcher, stop);
    REQUIRE(stopped);
    CHECK(stopped->interrupted);
    const std::vector<double> losses = losses_of(*stopped);
    REQUIRE(losses.size() > at);
    REQUIRE(losses.size() < 30);
    CHECK(losses == std::vector<double>(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(losses.size())));
    const auto file = read_run_file(request.output);
    REQUIRE(file);
    CHECK(file->finished);
    CHECK(file->steps().size() == losses.size());
    REQUIRE(file->checkpoints.size() == 1);
    CHECK(file->checkpoints[0].step == losses.size());
    CHECK(file->last_plan() != nullptr);
    CHECK_THAT(file->log.back().text, Catch::Contains("interrupted after " + std::to_string(losses.size()) + " of 30"));
    request.resume = stopped->checkpoint;
    request.output = folder.file("resumed.plimsoll");
    CHECK(losses_of(request) == std::vector<double>(whole.begin() + static_cast<std::ptrdiff_t>(losses.size()), whole.end()));
  }
}

TEST_CASE("a stop that comes while the state moves lets the move end, and the checkpoint goes on bit for bit") {
  const TemporaryFolder folder;
  RunRequest request = with_strategy(small_request(folder, Family::kGpt2, 12), {.name = "resident"});
  const std::vector<double> whole = losses_of(request);
  request.output = folder.file("stopped.plimsoll");
  request.warm_up_steps = 4;
  std::atomic<bool> stop{false};
  RunWatcher watcher;
  watcher.on_stage = [&](const std::string& stage) { stop = stop || stage.starts_with("moving "); };
  const auto stopped = run_session(request, watcher, stop);
  REQUIRE(stopped);
  CHECK(stopped->interrupted);
  CHECK(stopped->steps.size() == 4);
  const auto file = read_run_file(request.output);
  REQUIRE(file);
  CHECK(file->checkpoints.back().step == 4);
  CHECK(file->trace("migration")->trace.steps.size() == 1);
  request.resume = stopped->checkpoint;
  request.output = folder.file("resumed.plimsoll");
  CHECK(losses_of(request) == std::vector<double>(whole.begin() + 4, whole.end()));
}

TEST_CASE("a run that is stopped before its first step writes nothing") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder);
  request.warm_up_steps = GENERATE(0, 4);
  const auto before = files_in(folder);
  const auto stopped = run_session(request, {}, std::atomic<bool>(true));
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().kind == ErrorKind::kInterrupted);
  CHECK(files_in(folder) == before);
}

namespace {

/// Begins a run in place of one that ended, as `change` makes it: it is refused, and the older run file stays. What was said.
Error refused_in_place(const std::function<void(RunRequest&)>& change) {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 3);
  run_to_end(request);
  const auto before = files_in(folder);
  request.replace = true;
  change(request);
  const auto refused = run_session(request, {}, std::atomic<bool>(false));
  REQUIRE_FALSE(refused);
  CHECK(files_in(folder) == before);
  const auto file = read_run_file(request.output);
  REQUIRE(file);
  CHECK(file->trace("run")->trace.steps.size() == 3);
  return refused.error();
}

}  // namespace

TEST_CASE("a run that does not fit writes nothing and leaves an older run file alone") {
  SECTION("not even the cautious plan fits") {
    const Error error = refused_in_place([](RunRequest& request) {
      request.warm_up_steps = 2;
      request.machine.spaces[0].usable = Bytes(1024);
    });
    CHECK_THAT(error.what, Catch::Contains("even the smallest plan") && Catch::Contains("gpu0 needs"));
  }
  SECTION("the strategy that was asked for does not fit, although the cautious one does") {
    const Error error = refused_in_place([](RunRequest& request) {
      request.warm_up_steps = 2;
      request.strategy = "resident";
      request.machine.spaces[0].usable = 600 * kKiB;
    });
    CHECK_THAT(error.what, Catch::Contains("every plan does not fit") && Catch::Contains("gpu0 needs"));
  }
  SECTION("no plan fits") {
    const Error error = refused_in_place([](RunRequest& request) { request.machine.spaces[0].usable = Bytes(1024); });
    CHECK(error.kind == ErrorKind::kInfeasible);
    CHECK_THAT(error.what, Catch::Contains("gpu0 needs"));
  }
}

TEST_CASE("a run without its data or weights writes nothing and leaves an older run file alone") {
  refused_in_place([](RunRequest& request) { request.data += ".nothing.txt"; });
  refused_in_place([](RunRequest& request) { request.init = request.data + ".nothing.safetensors"; });
}

TEST_CASE("a training that fails in the middle keeps what was done and the reason") {
  const TemporaryFolder folder;
  const RunRequest request = small_request(folder);
  RunWatcher watcher;
  watcher.on_step = [](const StepSummary& step, std::int64_t) {
    if (step.step == 4) throw EnvironmentError({.kind = ErrorKind::kEnvironment, .what = "the disk is gone"});
  };
  CHECK_THROWS_AS(run_session(request, watcher, std::atomic<bool>(false)), EnvironmentError);
  const auto file = read_run_file(request.output);
  REQUIRE(file);
  CHECK(file->trace("run")->trace.steps.size() >= 5);
  REQUIRE(file->log.size() == 1);
  CHECK(file->log[0].text == "the disk is gone");
  CHECK(files_in(folder) == std::vector<std::string>{"run.plimsoll", "text.txt"});
}

}  // namespace plimsoll::test
