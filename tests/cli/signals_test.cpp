#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

/// Sends `signal` to an endless training once it has printed a step of the chosen plan.
ChildEnd signalled(const TemporaryFolder& folder, int signal) {
  ChildProcess child(command_line(tiny_run("100000000")), folder.path());
  const bool stepped = child.wait_for([&] {
    const std::string said = child.errors_so_far();
    return said.find("plimsoll: step", said.find("plimsoll: training:")) != std::string::npos;
  });
  INFO(child.errors_so_far());
  REQUIRE(stepped);
  child.send(signal);
  return child.wait();
}

nlohmann::json trace_in(const nlohmann::json& run, const std::string& name) {
  for (const auto& trace : run["traces"]) {
    if (trace["name"] == name) return trace;
  }
  return {{"steps", 0}, {"events", 0}};
}

/// Of the whole training: the warm-up's are its first.
std::int64_t steps_in(const nlohmann::json& run) {
  return trace_in(run, "warm-up")["steps"].get<std::int64_t>() + trace_in(run, "run")["steps"].get<std::int64_t>();
}

}  // namespace

TEST_CASE("Ctrl-C in the middle keeps the run file and a checkpoint, says so, and the run goes on from there") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const TemporaryFolder folder;
    const ChildEnd end = signalled(folder, signal);
    INFO(end.err);
    CHECK(end.code == 130);
    CHECK_THAT(end.err, Catch::Contains("interrupted; go on with plimsoll run --resume run.plimsoll"));
    CHECK(files_in(folder) == std::vector<std::string>{"run.plimsoll", "run.plimsoll.checkpoint.safetensors"});
    const ChildEnd shown = plimsoll_in(folder, {"show", "run.plimsoll", "--json"});
    REQUIRE(shown.code == 0);
    const auto run = nlohmann::json::parse(shown.out);
    const auto done = steps_in(run);
    CHECK(run["checkpoints"][0]["step"] == done);
    CHECK_THAT(run["log"].back()["text"].get<std::string>(), Catch::Contains("interrupted after " + std::to_string(done)));
    CHECK(plimsoll_in(folder, {"compare", "run.plimsoll"}).code == 0);
    const ChildEnd resumed = plimsoll_in(folder, {"run", "--resume", "run.plimsoll", "--data", kText, "--steps",
                                                  std::to_string(done + 2), "-o", "more.plimsoll", "--json"});
    INFO(resumed.err);
    CHECK(resumed.code == 0);
    CHECK(nlohmann::json::parse(resumed.out)["steps"] == 2);
  }
}

TEST_CASE("Ctrl-C in the warm-up keeps its steps: they are the training's first") {
  const TemporaryFolder folder;
  ChildProcess child(command_line(tiny_run("100000000", {"--warm-up-steps", "1000000", "--json"})), folder.path());
  REQUIRE(child.wait_for_text("plimsoll: step"));
  child.send(SIGINT);
  const ChildEnd end = child.wait();
  INFO(end.err);
  CHECK(end.code == 130);
  const auto losses = nlohmann::json::parse(end.out)["losses"];
  const auto run = nlohmann::json::parse(plimsoll_in(folder, {"show", "run.plimsoll", "--json"}).out);
  CHECK(steps_in(run) == static_cast<std::int64_t>(losses.size()));
  CHECK(run["checkpoints"][0]["step"] == losses.size());
  CHECK(plimsoll_in(folder, {"export", "run.plimsoll", "--plan", "plan.json", "--chrome", "trace.json"}).code == 0);
  const ChildEnd resumed = plimsoll_in(folder, {"run", "--resume", "run.plimsoll", "--data", kText, "--steps",
                                                std::to_string(losses.size() + 2), "-o", "more.plimsoll", "--json"});
  INFO(resumed.err);
  CHECK(resumed.code == 0);
  CHECK(nlohmann::json::parse(resumed.out)["steps"] == 2);
}

TEST_CASE("a page that the system cannot give ends a run in words, and it goes on from the states that it kept") {
  // SQLite maps the index of the run file's journal; on file systems that write elsewhere a full disk or quota takes its pages away,
  // as cutting it does here.
  const TemporaryFolder folder;
  ChildProcess child(command_line(tiny_run("100000000", {"--durability", "step"})), folder.path());
  REQUIRE(child.wait_for_text("plimsoll: step"));
  std::filesystem::resize_file(folder.file("run.plimsoll-shm"), 0);
  const ChildEnd end = child.wait();
  INFO(end.err);
  CHECK(end.code == 4);
  CHECK_THAT(end.err, Catch::Contains("run.plimsoll-shm: the system has no page for it") &&
                          Catch::Contains("plimsoll run --resume run.plimsoll goes on from the last"));
  const auto run = nlohmann::json::parse(plimsoll_in(folder, {"show", "run.plimsoll", "--json"}).out);
  const ChildEnd resumed = plimsoll_in(folder, {"run", "--resume", "run.plimsoll", "--data", kText, "--steps",
                                                std::to_string(steps_in(run) + 300), "-o", "more.plimsoll", "--json"});
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  CHECK(nlohmann::json::parse(resumed.out)["steps"].get<std::int64_t>() > 0);  // the state may be steps ahead of the run file
}

namespace {

/// A run whose steps take seconds.
Arguments slow_line(const std::string& steps, const Arguments& more) {
  Arguments words{"run",          "--data", kText,      "--steps",  steps,         "--device-memory", "1GiB",
                  "--ram",        "1GiB",   "-q",       "--batch",  "128",         "--accumulate",    "8",
                  "--matmul",     "openblas", "--cpu-cores", "1",   "--warm-up-steps", "0",           "--durability",
                  "step",         "--strategy", "resident"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Steps that a run's lines of progress tell of.
std::int64_t steps_told(const std::string& progress) {
  std::istringstream lines(read_whole(progress));
  std::int64_t steps = 0;
  for (std::string words; std::getline(lines, words);) {
    const auto said = nlohmann::json::parse(words, nullptr, false);
    if (!said.is_discarded() && said.value("event", "") == "step") steps = said["step"].get<std::int64_t>() + 1;
  }
  return steps;
}

/// Kills an endless training once it has kept a checkpoint and told of a step.
void kill_after_checkpoint(const TemporaryFolder& folder, const Arguments& endless) {
  ChildProcess child(command_line(tiny_run("100000000", endless)), folder.path());
  REQUIRE(child.wait_for([&] { return std::filesystem::exists(folder.file("run.plimsoll.checkpoint.safetensors")); }));
  REQUIRE(child.wait_for_text("plimsoll: step"));
  child.send(SIGKILL);
  CHECK(child.wait().signal == SIGKILL);
}

/// Of a run that was refused because a checkpoint holds as many steps.
std::int64_t steps_held(const ChildEnd& refused) {
  CHECK(refused.code == 2);
  const std::string mark = "already holds ";
  const auto at = refused.err.find(mark);
  REQUIRE(at != std::string::npos);
  return std::stoll(refused.err.substr(at + mark.size()));
}

}  // namespace

TEST_CASE("a second signal, of whatever kind, ends a run at once, and with --durability step only the running step is lost") {
  for (const int second : {SIGINT, SIGTERM}) {
    const TemporaryFolder folder;
    const std::string progress = folder.file("progress");
    Arguments first = slow_line("1000", {"-o", "run.plimsoll", "--progress-fd", "3"});
    first.insert(first.begin() + 1, "gpt:layers=2,hidden=64,heads=4,vocab=256,positions=128");
    std::vector<std::string> shell{"/bin/sh", "-c", "exec \"$0\" \"$@\" 3>" + progress};
    for (const std::string& word : command_line(first)) shell.push_back(word);
    ChildProcess child(shell, folder.path());
    const auto told = [&] { return steps_told(progress); };
    REQUIRE(child.wait_for([&] { return told() >= 1; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // what it told of is on disk, the next step is running
    child.send(SIGINT);
    const auto sent_again = [&] {  // two of a kind that wait for a busy process count as one
      child.send(second);
      return false;
    };
    CHECK_FALSE(child.wait_for(sent_again));
    const ChildEnd end = child.wait();
    INFO(end.err);
    CHECK((end.signal == second || end.signal == SIGINT));  // of two that wait, the later may be handled first
    const ChildEnd resumed =
        plimsoll_in(folder, slow_line(std::to_string(told() + 1), {"--resume", "run.plimsoll", "-o", "more.plimsoll", "--json"}));
    INFO(resumed.err);
    if (resumed.code == 2) {  // it ended between the state of a step and the word of it
      CHECK_THAT(resumed.err, Catch::Contains("already holds " + std::to_string(told() + 1)));
      continue;
    }
    REQUIRE(resumed.code == 0);
    CHECK(nlohmann::json::parse(resumed.out)["steps"] == 1);
  }
}

TEST_CASE("a run that is killed in the middle leaves a run file with the steps and events until then") {
  const TemporaryFolder folder;
  {
    ChildProcess child(command_line(tiny_run("100000000", {"--save-every", "100"})), folder.path());
    REQUIRE(child.wait_for_text("plimsoll: step"));
    REQUIRE(
        child.wait_for([&] { return std::filesystem::exists(folder.file("run.plimsoll.checkpoint.safetensors")); }));
    const auto seen = child.errors_so_far().size();
    REQUIRE(child.wait_for(
        [&] { return child.errors_so_far().size() > seen; }));  // a line a second: commits came in between
    child.send(SIGKILL);
    CHECK(child.wait().signal == SIGKILL);
  }
  const ChildEnd shown = plimsoll_in(folder, {"show", "run.plimsoll", "--json"});
  INFO(shown.err);
  REQUIRE(shown.code == 0);
  const auto run = nlohmann::json::parse(shown.out);
  CHECK(run["finished"] == false);
  CHECK(steps_in(run) > 4);
  CHECK(trace_in(run, "run")["events"].get<int>() > 0);
  CHECK(plimsoll_in(folder, {"compare", "run.plimsoll"}).code == 0);
  const ChildEnd resumed =
      plimsoll_in(folder, {"run", "--resume", "run.plimsoll", "--data", kText, "--steps", "100000000", "-o",
                           "more.plimsoll", "--warm-up-steps", "0", "--strategy", "nothing"});
  CHECK_THAT(resumed.err, Catch::Contains("unknown strategy"));  // it got as far as planning: the checkpoint was found
}

TEST_CASE("a run with SSD data that is killed leaves nothing on the drive, and its checkpoint goes on bit for bit") {
  const TemporaryFolder folder;
  Arguments on_ssd{"--ssd", "1GB:1,1", "--strategy", "offload-optimizer-ssd"};
  Arguments endless = on_ssd;
  const char* warm_up = GENERATE("0", "1000000");  // killed after it, within it
  endless.insert(endless.end(), {"--save-every", "50", "--warm-up-steps", warm_up});
  on_ssd.insert(on_ssd.end(), {"--warm-up-steps", "0"});
  kill_after_checkpoint(folder, endless);
  for (const std::string& name : files_in(folder)) {
    INFO(name);
    CHECK(name.starts_with("run.plimsoll"));
    CHECK(std::filesystem::file_size(folder.file(name)) < 10'000'000);
  }
  const auto saved = nlohmann::json::parse(plimsoll_in(folder, {"show", "run.plimsoll", "--json"}).out)["checkpoints"];
  // The checkpoint may be of a later step than the last that was committed to the run file; the resumed run knows.
  const auto resume = [&](const std::string& steps) {
    return plimsoll_in(folder, {"run", "--resume", "run.plimsoll", "--data", kText, "--steps", steps, "-o",
                                "more.plimsoll", "--warm-up-steps", "0", "--device-memory", "16MiB", "--ram", "64MiB",
                                "--force", "--json"});
  };
  const std::int64_t done = steps_held(resume("1"));
  CHECK(done >= (saved.empty() ? 50 : saved.back()["step"].get<std::int64_t>()));
  const ChildEnd resumed = resume(std::to_string(done + 5));
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);

  Arguments whole = on_ssd;
  whole.insert(whole.end(), {"--force", "--json"});
  const ChildEnd again = plimsoll_in(folder, tiny_run(std::to_string(done + 5), whole));
  INFO(again.err);
  REQUIRE(again.code == 0);  // --force replaced what the killed run left
  CHECK(files_in(folder) == std::vector<std::string>{"more.plimsoll", "more.plimsoll.checkpoint.safetensors",
                                                     "run.plimsoll", "run.plimsoll.checkpoint.safetensors"});
  const auto losses = nlohmann::json::parse(again.out)["losses"];
  CHECK(nlohmann::json::parse(resumed.out)["losses"] ==
        nlohmann::json(std::vector<nlohmann::json>(losses.end() - 5, losses.end())));
}

}  // namespace plimsoll::test
