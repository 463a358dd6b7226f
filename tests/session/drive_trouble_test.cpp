// Drives that fail or slow down in the middle of a run.
#include <catch2/catch.hpp>
#include <sys/resource.h>

#include <cerrno>

#include "core/base/error.h"
#include "session/warm_up.h"
#include "tests/session/session_case.h"
#include "tests/support/trouble_io.h"

namespace plimsoll::test {
namespace {

const Strategy kOnSsd{
    .name = "offload-optimizer-ssd", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .staging_slots = 3};

RunRequest ssd_request(const TemporaryFolder& folder, std::int64_t steps) {
  RunRequest request = with_strategy(small_request(folder, Family::kGpt2, steps), kOnSsd);
  request.schedule.save_every = 4;
  return request;
}

/// The error that a run throws.
Error failure_of(const RunRequest& request, const RunWatcher& watcher = {}) {
  try {
    const auto ended = run_session(request, watcher, std::atomic<bool>(false));
    FAIL("the run " << (ended ? "ended well" : "failed otherwise: " + ended.error().text()));
  } catch (const EnvironmentError& failure) {
    return failure.error();
  }
  return {};
}

/// Lets no file of this process grow beyond a size, as `ulimit -f` does, from `hold` to its end.
class FileSizeLimit {
 public:
  FileSizeLimit() { ::getrlimit(RLIMIT_FSIZE, &before_); }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  void hold(Bytes most) const {
    const rlimit limit{static_cast<rlim_t>(most.count), before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }

 private:
  rlimit before_{};
};

bool has_warning(const RunFile& file, const std::string& words) {
  return std::any_of(file.log.begin(), file.log.end(), [&](const LogLine& line) {
    return line.level == "warning" && line.text.find(words) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("a drive that fails in the middle ends the run by name, and the last checkpoint goes on bit for bit") {
  const std::pair<int, const char*> problems[] = {{EIO, "Input/output error"}, {ENOSPC, "No space left on device"}};
  for (const auto& [problem, words] : problems) {
    const TemporaryFolder folder;
    RunRequest request = ssd_request(folder, 12);
    const std::vector<double> whole = losses_of(request);

    request.output = folder.file("broken.plimsoll");
    const auto left = std::make_shared<std::atomic<int>>(1 << 30);
    request.drive.interpose = TroubleIo::around(TroubleIo::failing_after(left, problem));
    RunWatcher watcher;
    watcher.on_step = [&](const StepSummary& step, std::int64_t) {
      if (step.step == 9) *left = 5;  // well after the checkpoint of step 8
    };
    const Error error = failure_of(request, watcher);
    INFO(error.text());
    CHECK(error.kind == ErrorKind::kEnvironment);
    CHECK_THAT(error.what, Catch::Contains("ing ") && Catch::Contains(" bytes at ") && Catch::Contains(words));
    CHECK(error.where == "nameless file of SSD data in " + folder.path());
    CHECK_THAT(error.remedy,
               Catch::Contains("the checkpoint of step 8 is whole") && Catch::Contains("--resume " + request.output));
    const auto file = read_run_file(request.output);
    REQUIRE(file);
    REQUIRE_FALSE(file->log.empty());
    CHECK(file->log.back().level == "error");
    CHECK_THAT(file->log.back().text, Catch::Contains(words));

    request.resume = checkpoint_of(request.output);
    request.output = folder.file("resumed.plimsoll");
    request.drive.interpose = {};
    CHECK(losses_of(request) == std::vector<double>(whole.begin() + 8, whole.end()));
  }
}

TEST_CASE("a drive that fails before the first checkpoint promises none") {
  const TemporaryFolder folder;
  RunRequest request = ssd_request(folder, 12);
  const auto left = std::make_shared<std::atomic<int>>(60);  // the states are written first, then some steps run
  request.drive.interpose = TroubleIo::around(TroubleIo::failing_after(left, EIO));
  CHECK_THAT(failure_of(request).remedy, !Catch::Contains("--resume"));
}

TEST_CASE("a drive that fails while the state moves ends the run by name, and the warm-up's checkpoint goes on bit for bit") {
  const TemporaryFolder folder;
  const Strategy versions{.name = "two versions", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .update_in_backward = true};
  RunRequest request = with_strategy(small_request(folder, Family::kGpt2, 12), versions);
  const std::vector<double> whole = losses_of(request);
  request.output = folder.file("broken.plimsoll");
  request.warm_up_steps = 6;  // with moments on the drive
  request.schedule.save_every = 4;
  const auto left = std::make_shared<std::atomic<int>>(1 << 30);
  request.drive.interpose = TroubleIo::around(TroubleIo::failing_after(left, EIO));
  RunWatcher watcher;
  watcher.on_stage = [&](const std::string& stage) {
    if (stage.starts_with("moving ")) *left = 3;
  };
  const Error error = failure_of(request, watcher);
  CHECK_THAT(error.what, Catch::Contains("Input/output error"));
  CHECK_THAT(error.remedy, Catch::Contains("the checkpoint of step 4 is whole"));
  request.resume = checkpoint_of(request.output);
  request.output = folder.file("resumed.plimsoll");
  request.drive.interpose = {};
  CHECK(losses_of(request) == std::vector<double>(whole.begin() + 4, whole.end()));
}

TEST_CASE("where the drive has no room for the chosen layout, the warm-up's steps are saved, and go on bit for bit") {
  const TemporaryFolder folder;
  RunRequest request = small_request(folder, Family::kGpt2, 9);
  const std::vector<double> whole = losses_of(request);
  request.output = folder.file("cramped.plimsoll");
  request.warm_up_steps = 3;
  request.exact_strategy =
      Strategy{.name = "two versions", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .update_in_backward = true};
  {
    const FileSizeLimit limit;
    RunWatcher watcher;
    watcher.on_plan = [&](const Plan& chosen, const Prediction&, const std::vector<Candidate>&) {
      const SpaceId ssd = *chosen.platform.space(SpaceKind::kSsd);
      const std::int64_t cautious = cautious_plan(request)->arena_bytes(ssd).count;
      const std::int64_t wanted = chosen.arena_bytes(ssd).count;
      REQUIRE(cautious < wanted);
      limit.hold(Bytes((cautious + wanted) / 2));
    };
    const auto ended = run_session(request, watcher, std::atomic<bool>(false));
    REQUIRE_FALSE(ended);
    CHECK_THAT(ended.error().what, Catch::Contains("this process may write files of"));
    CHECK_THAT(ended.error().remedy, Catch::Contains("the checkpoint of step 3 is whole"));
  }
  request.resume = checkpoint_of(request.output);
  request.output = folder.file("resumed.plimsoll");
  CHECK(losses_of(request) == std::vector<double>(whole.begin() + 3, whole.end()));
}

TEST_CASE("a drive that becomes slow is told and logged once, with both rates and what can be done") {
  const TemporaryFolder folder;
  // 4 ms of grace make 125 small transfers a window of half a second; 375 of 9 ms each are three slow windows.
  RunRequest request = ssd_request(folder, 20);
  request.schedule.save_every = 0;
  request.drive.interpose = TroubleIo::around(TroubleIo::slow(std::chrono::milliseconds(9)));
  RunWatcher watcher;
  std::vector<std::string> told;
  watcher.on_warning = [&](const std::string& text) { told.push_back(text); };
  REQUIRE(run_session(request, watcher, std::atomic<bool>(false)));
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Catch::Contains(folder.path() + " has become slow") && Catch::Contains("GB/s was expected") &&
                          Catch::Contains("go on with: plimsoll run --resume " + request.output) && Catch::Contains(" --ssd "));
  const auto file = read_run_file(request.output);
  REQUIRE(file);
  CHECK(has_warning(*file, "has become slow"));
}

TEST_CASE("a drive as fast as expected is not called slow") {
  const TemporaryFolder folder;
  RunRequest request = ssd_request(folder, 60);
  request.drive.interpose = MemoryIo::instead_of;
  run_to_end(request);
  const auto file = read_run_file(folder.file("run.plimsoll"));
  REQUIRE(file);
  CHECK_FALSE(has_warning(*file, "slow"));
}

}  // namespace plimsoll::test
