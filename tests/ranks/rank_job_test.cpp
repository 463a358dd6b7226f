// The real program on real ranks. Without mpirun, or in a build without MPI, all of it is skipped (exit code 77).
#define CATCH_CONFIG_RUNNER
#include <signal.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "executor/checkpoint/training_state.h"
#include "executor/collectives/job.h"
#include "tests/ranks/program_on_ranks.h"
#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

using test::ChildEnd;
using test::ChildProcess;
using namespace test::on_mpi;

/// What rank 1 alone is started with, `$1` being the other ranks' word in its place.
std::string rank_with(const std::string& word, const std::string& other) {
  return "[ $OMPI_COMM_WORLD_RANK = 0 ] && exec \"$0\" \"$@\"; for w; do shift; [ \"$w\" = \"" + word + "\" ] && w=\"" + other +
         "\"; set -- \"$@\" \"$w\"; done; exec \"$0\" \"$@\"";
}

nlohmann::json alone(const std::string& folder, const std::string& accumulate) {
  std::vector<std::string> words{PLIMSOLL_PROGRAM};
  for (const std::string& word : run_options({"--accumulate", accumulate, "--steps", "4", "--warm-up-steps", "0", "--json", "-q",
                                              "-o", "one.plimsoll", "--strategy", "resident"}))
    words.push_back(word);
  return answer_of(test::run_child(words, folder));
}

pid_t process_of(const std::string& folder, int rank) {
  pid_t process = 0;
  std::ifstream(folder + "/process." + std::to_string(rank)) >> process;
  return process;
}

}  // namespace

TEST_CASE("two ranks of a pipeline give the losses of one, and a run file") {
  const TemporaryFolder folder;
  const auto one = alone(folder.path(), "4");
  const auto two = answer_of(test::run_child(
      on_ranks(2, {"--pp", "2", "--schedule", "1f1b", "--micro-batches", "4", "--steps", "4", "--json", "-q"}), folder.path()));
  CHECK(two["losses"] == one["losses"]);
  CHECK(two["ranks"].size() == 2);
  CHECK(two["predicted_step_seconds"].get<double>() > 0);
  CHECK(two["bubble_fraction"].get<double>() > 0);
  const ChildEnd shown = test::run_child({PLIMSOLL_PROGRAM, "show", "run.plimsoll"}, folder.path());
  CHECK(shown.code == 0);
}

TEST_CASE("four ranks, two replicas of a pipeline of two, give the losses of one") {
  const TemporaryFolder folder;
  const auto one = alone(folder.path(), "2");
  const auto four = answer_of(test::run_child(
      on_ranks(4, {"--pp", "2", "--dp", "2", "--schedule", "gpipe", "--micro-batches", "1", "--steps", "4", "--json", "-q"}),
      folder.path()));
  CHECK(four["losses"] == one["losses"]);
}

TEST_CASE("ranks that share layers train as one rank does, also in a pipeline and as replicas, and their state goes on") {
  const TemporaryFolder folder;
  const auto one = alone(folder.path(), "2");
  const auto check = [&](int ranks, const std::vector<std::string>& how) {
    std::vector<std::string> words{"--steps", "4", "--json", "-q"};
    words.insert(words.end(), how.begin(), how.end());
    const auto many = answer_of(test::run_child(on_ranks(ranks, words), folder.path()));
    REQUIRE(many["losses"].size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(many["losses"][i].get<double>() == Approx(one["losses"][i].get<double>()).epsilon(1e-5));
    }
    CHECK(many["ranks"].size() == static_cast<std::size_t>(ranks));
    CHECK(many["predicted_step_seconds"].get<double>() > 0);
    return many["losses"];
  };
  const auto shared = check(2, {"--tp", "2", "--micro-batches", "2", "-o", "two.plimsoll"});
  CHECK(check(4, {"--tp", "2", "--pp", "2", "--micro-batches", "2", "-o", "piped.plimsoll"}) == shared);
  CHECK(check(4, {"--tp", "2", "--dp", "2", "--micro-batches", "1", "-o", "replicas.plimsoll"}) == shared);
  const std::vector<std::string> words{PLIMSOLL_PROGRAM, "run",    "--resume", "two.plimsoll", "--data", kText, "--steps", "6",
                                       "--json",         "-q", "-o",       "rest.plimsoll"};
  CHECK(answer_of(test::run_child(words, folder.path()))["losses"].size() == 2);
  std::ofstream(folder.file("other.txt")) << std::string(1000, 'x');
  const auto others = test::run_child(
      {"/usr/bin/env", "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", PLIMSOLL_PROGRAM, "run", "--resume",
       "two.plimsoll", "--data", "other.txt", "--tp", "2", "--steps", "6", "-o", "rest.plimsoll", "--force"},
      folder.path());
  CHECK(others.code != 0);
  CHECK_THAT(others.err, Catch::Contains("this is not the data that the training had") && Catch::Contains(kText));
}

TEST_CASE("2BW's losses are the same on two ranks and on four, and PipeDream goes on from a state with those of a whole run") {
  const TemporaryFolder folder;
  const auto losses = [&](int ranks, std::vector<std::string> options) {
    for (const char* word : {"--json", "-q"}) options.emplace_back(word);
    return answer_of(test::run_child(on_ranks(ranks, options), folder.path()))["losses"];
  };
  const auto doubled = [&](const char* ranks) {
    return std::vector<std::string>{"--pp", ranks, "--schedule", "2bw", "--micro-batches", "4", "--steps", "6", "-o",
                                    std::string("bw") + ranks};
  };
  CHECK(losses(4, doubled("4")) == losses(2, doubled("2")));
  const std::vector<std::string> piped{"--pp", "2", "--schedule", "pipedream", "--save-every", "4", "--eval-data", kText,
                                       "--eval-every", "3"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), piped.begin(), piped.end());
    return more;
  };
  const auto whole = losses(2, with({"--steps", "7", "-o", "whole.plimsoll"}));
  (void)losses(2, with({"--steps", "4", "-o", "half.plimsoll"}));
  std::vector<std::string> words{"/usr/bin/env", "mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "2", PLIMSOLL_PROGRAM,
                                 "run", "--resume", "half.plimsoll", "--data", kText, "--pp", "2", "--schedule", "pipedream",
                                 "--steps", "7", "--json", "-q", "-o", "rest.plimsoll"};
  const auto rest = answer_of(test::run_child(words, folder.path()))["losses"];
  REQUIRE(whole.size() == 7);
  CHECK(rest == nlohmann::json(std::vector(whole.begin() + 4, whole.end())));
}

TEST_CASE("stages of two ranks and of one go on from a state with the losses of a whole run") {
  const TemporaryFolder folder;
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"--schedule", "pipedream", "--stage-replicas", "2,1", "--stage-blocks", "3,1", "--json", "-q"});
    std::vector<std::string> words = on_ranks(3, more);
    std::replace(words.begin(), words.end(), kModel, kModel + ",tied=false");
    return answer_of(test::run_child(words, folder.path()))["losses"].get<std::vector<double>>();
  };
  const auto whole =
      run({"--save-every", "4", "--steps", "7", "-o", "whole.plimsoll", "--eval-data", kText, "--eval-every", "3"});
  (void)run({"--save-every", "4", "--steps", "4", "-o", "half.plimsoll"});
  std::vector<std::string> words{"/usr/bin/env",
                                 "mpirun",
                                 "--oversubscribe",
                                 "--allow-run-as-root",
                                 "-n",
                                 "3",
                                 PLIMSOLL_PROGRAM,
                                 "run",
                                 "--resume",
                                 "half.plimsoll",
                                 "--data",
                                 kText,
                                 "--schedule",
                                 "pipedream",
                                 "--stage-replicas",
                                 "2,1",
                                 "--stage-blocks",
                                 "3,1",
                                 "--steps",
                                 "7",
                                 "--json",
                                 "-q",
                                 "-o",
                                 "rest.plimsoll"};
  const auto rest = answer_of(test::run_child(words, folder.path()))["losses"];
  REQUIRE(whole.size() == 7);
  CHECK(rest == nlohmann::json(std::vector(whole.begin() + 4, whole.end())));
}

TEST_CASE("ranks whose kernels sleep have a bubble and no loss") {
  const TemporaryFolder folder;
  const auto slept = answer_of(test::run_child(
      on_ranks(2, {"--pp", "2", "--schedule", "pipedream", "--timed-waits", "5", "--steps", "6", "--json", "-q"}),
      folder.path()));
  CHECK(slept["losses"].empty());
  CHECK(slept["bubble_fraction"].get<double>() > 0);
}

TEST_CASE("a sweep over ranks prints what one process prints") {
  const TemporaryFolder folder;
  for (const bool json : {false, true}) {
    std::vector<std::string> words{PLIMSOLL_PROGRAM, "sweep", "gpt3-1.3b", "--on", "A100 80GB", "--gpus", "8",
                                   "--global-batch", "32", "--vary", "pp=1,2,3", "--vary", "micro-batch=1..3"};
    if (json) words.emplace_back("--json");
    const ChildEnd alone = test::run_child(words, folder.path());
    INFO(alone.err);
    REQUIRE(alone.code == 0);
    REQUIRE(std::count(alone.out.begin(), alone.out.end(), '\n') >= 9);
    for (const char* ranks : {"2", "4"}) {
      std::vector<std::string> launched{"/usr/bin/env", "mpirun", "--oversubscribe", "--allow-run-as-root", "-n", ranks};
      launched.insert(launched.end(), words.begin(), words.end());
      const ChildEnd spread = test::run_child(launched, folder.path());
      INFO(spread.err);
      CHECK(spread.code == 0);
      CHECK(spread.out == alone.out);
    }
  }
}

TEST_CASE("a training on ranks that was killed goes on from its last state, on ranks or on one, with the losses of one rank") {
  const TemporaryFolder folder;
  const std::string state = folder.path() + "/run.plimsoll.checkpoint.safetensors";
  {
    ChildProcess job(on_ranks(2, {"--pp", "2", "--micro-batches", "2", "--steps", "1000000", "--save-every", "10"}),
                     folder.path());
    REQUIRE(job.wait_for([&] { return std::ifstream(state).good(); }));
    for (const int rank : {0, 1}) ::kill(process_of(folder.path(), rank), SIGKILL);
    CHECK(job.wait().code != 0);
  }
  const auto done = steps_in_training_state(state);
  REQUIRE(done);
  CHECK(*done % 10 == 0);
  const std::string steps = std::to_string(*done + 6);
  std::vector<std::string> words{PLIMSOLL_PROGRAM};
  for (const std::string& word : run_options({"--accumulate", "2", "--steps", steps, "--warm-up-steps", "0", "--json", "-q", "-o",
                                              "one.plimsoll", "--strategy", "resident"}))
    words.push_back(word);
  const auto one = answer_of(test::run_child(words, folder.path()));
  const auto rest = [&](const std::vector<std::string>& how) {
    const auto answer = answer_of(test::run_child(how, folder.path()));
    REQUIRE(answer["losses"].size() == 6);
    CHECK(answer["losses"] == nlohmann::json(std::vector(one["losses"].end() - 6, one["losses"].end())));
  };
  const std::vector<std::string> more{"run", "--resume", "run.plimsoll", "--data", kText, "--steps", steps, "--json", "-q"};
  const auto with = [&](std::vector<std::string> begin, const std::vector<std::string>& end) {
    begin.insert(begin.end(), more.begin(), more.end());
    begin.insert(begin.end(), end.begin(), end.end());
    return begin;
  };
  rest(with({"/usr/bin/env", "mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "4", PLIMSOLL_PROGRAM},
            {"--pp", "2", "--dp", "2", "--schedule", "gpipe", "-o", "four.plimsoll"}));
  rest(with({PLIMSOLL_PROGRAM}, {"-o", "alone.plimsoll"}));
}

TEST_CASE("ranks evaluate and save what they trained as one rank does") {
  const TemporaryFolder folder;
  const std::vector<std::string> asked{"--eval-data", kText, "--eval-every", "2", "--steps", "4", "--json", "-q"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.begin(), asked.begin(), asked.end());
    return words;
  };
  std::vector<std::string> words{PLIMSOLL_PROGRAM};
  for (const std::string& word : run_options(with({"--accumulate", "2", "--warm-up-steps", "0", "-o", "one.plimsoll",
                                                   "--strategy", "resident", "--save", "one"})))
    words.push_back(word);
  const auto one = answer_of(test::run_child(words, folder.path()));
  const auto two = answer_of(test::run_child(
      on_ranks(2, with({"--pp", "2", "--micro-batches", "2", "--save", "two", "-o", "two.plimsoll"})), folder.path()));
  CHECK(one["evaluations"].size() == 2);
  CHECK(two["evaluations"] == one["evaluations"]);
  for (const char* file : {"one/model.safetensors two/model.safetensors", "one/config.json two/config.json",
                           "one.plimsoll.checkpoint.safetensors two.plimsoll.checkpoint.safetensors"}) {
    INFO(file);
    CHECK(test::run_child({"/bin/sh", "-c", std::string("cmp ") + file}, folder.path()).code == 0);
  }
}

TEST_CASE("ranks that were started differently are named on all ranks with one message") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& word, const std::string& other, const std::string& text) {
    const ChildEnd end = test::run_child(
        on_ranks(2, {"--pp", "2", "--micro-batches", "2", "--lr", "0.01", "--steps", "9"}, rank_with(word, other)),
        folder.path());
    INFO(end.err);
    CHECK(end.code == 2);
    const std::size_t at = end.err.find(text);
    REQUIRE(at != std::string::npos);
    CHECK(end.err.find(text, at + 1) == std::string::npos);
    CHECK_FALSE(std::ifstream(folder.path() + "/run.plimsoll"));
  };
  refused("0.01", "0.02", "rank 1 has another recipe than rank 0: lr=0.02; rank 0 has lr=0.01");
  refused("9", "7", "rank 1 has another schedule of steps than rank 0: steps=7; rank 0 has steps=9");
  refused("--pp", "--dp", "rank 1 has another recipe than rank 0: accumulate=4; rank 0 has accumulate=2");
  refused(kModel, "gpt:layers=4,hidden=64,heads=4,vocab=256,positions=32", "rank 1 has another model than rank 0");
  refused(kText, std::string(PLIMSOLL_PROGRAM), "rank 1 has another data file than rank 0");
  refused(kText, "/nowhere.txt", "rank 1 has another data file than rank 0: missing");
}

TEST_CASE("what cannot run is named before anything starts") {
  const TemporaryFolder folder;
  const auto refused = [&](int ranks, const std::vector<std::string>& options, const std::string& text) {
    const ChildEnd end = test::run_child(on_ranks(ranks, options), folder.path());
    INFO(end.err);
    CHECK(end.code == 2);
    CHECK(end.err.find(text) != std::string::npos);
  };
  refused(2, {"--pp", "4"}, "needs 4 ranks, and this job has 2");
  refused(2, {}, "started as several ranks, and nothing says how they share the training");
  refused(3, {"--pp", "3", "--micro-batches", "3"}, "do not divide into 3 equal stages");
  refused(2, {"--pp", "2", "--cp", "2"}, "--dp 1 --pp 2 --cp 2 needs 4 ranks, and this job has 2");
  refused(3, {"--cp", "3"}, "tokens do not divide by it");
  refused(2, {"--pp", "2", "--tp", "2"}, "--dp 1 --pp 2 --tp 2 needs 4 ranks, and this job has 2");
  refused(3, {"--tp", "3"}, "--tp 3: the 4 heads of");
  refused(2, {"--ep", "2"}, "has no experts");
  refused(3, {"--dp", "3", "--ep", "2"}, "--ep 2 does not divide --dp 3");
  refused(2, {"--ep", "4"}, "--dp 4 --pp 1 --ep 4 needs 4 ranks, and this job has 2");
  refused(2, {"--pp", "2", "--schedule", "pipedream", "--micro-batches", "4"}, "every micro-batch is an update of its own");
  refused(2, {"--pp", "2", "--schedule", "pipedream", "--clip", "1"}, "no norm of all to clip by");
  refused(2, {"--pp", "2", "--vertical-sync"}, "--vertical-sync is of the schedule pipedream");
  refused(2, {"--pp", "2", "--schedule", "2bw"}, "at least as many micro-batches as ranks");
  refused(2, {"--pp", "2", "--schedule", "chimera", "--micro-batches", "2"}, "keeps stage 0 on several ranks");
  refused(4, {"--pp", "2", "--tp", "2", "--schedule", "2bw", "--micro-batches", "2"}, "--tp shares layers between ranks, which");
  const auto round = [](const char* counts) {
    return std::vector<std::string>{"--pp", "2", "--schedule", "pipedream", "--stage-replicas", counts};
  };
  refused(3, round("3,1"), "--stage-replicas 3,1 needs 4 ranks, and this job has 3");
  refused(3, round("2,1,1"), "3 counts, 2,1,1, for 2 stages");
  refused(3, round("2,0"), "a stage without a rank in 2,0");
  refused(3, round("2,1"), "tied to the embedding");
  refused(2, {"--pp", "2", "--stage-blocks", "3,2"}, "5 blocks, and");
  std::vector<std::string> words = run_options({"--pp", "2"});
  words.insert(words.begin(), PLIMSOLL_PROGRAM);
  const ChildEnd single = test::run_child(words, folder.path());
  CHECK(single.code == 2);
  CHECK(single.err.find("mpirun -n 2 plimsoll run") != std::string::npos);
}

TEST_CASE("a job of another size is refused before anything is looked at") {
  const TemporaryFolder folder;
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--pp", "2"}, "--dp 1 --pp 2 needs 2 ranks"}, {{"--dp", "4", "--zero", "2"}, "--dp 4 --pp 1 needs 4 ranks"}};
  for (const auto& [options, needs] : cases) {
    std::vector<std::string> words{PLIMSOLL_PROGRAM, "run", "no such model", "--data", "no such file"};
    words.insert(words.end(), options.begin(), options.end());
    const ChildEnd end = test::run_child(words, folder.path());
    INFO(end.err);
    CHECK(end.code == 2);
    CHECK(end.err.find(needs + ", and this job has 1") != std::string::npos);
    CHECK(end.err.find("assum") == std::string::npos);
  }
}

TEST_CASE("a rank that is killed or stopped ends the job in time, with its name and step") {
  for (const int signal : {SIGKILL, SIGSTOP}) {
    const TemporaryFolder folder;
    ChildProcess job(on_ranks(2, {"--pp", "2", "--micro-batches", "2", "--steps", "1000000", "--rank-timeout", "10"}),
                     folder.path());
    const auto told_thrice = [&] {  // a line a second, so that its neighbour heard of a step
      const std::string said = job.errors_so_far();
      std::size_t lines = 0;
      for (auto at = said.find("plimsoll: step "); at != std::string::npos; at = said.find("plimsoll: step ", at + 1)) ++lines;
      return lines >= 3;
    };
    REQUIRE(job.wait_for(told_thrice));
    const auto start = std::chrono::steady_clock::now();
    ::kill(process_of(folder.path(), 1), signal);
    const ChildEnd end = job.wait();  // the launcher alone would wait for ever
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    INFO(end.err);
    CHECK(end.code != 0);
    CHECK(took.count() < 30);
    CHECK(end.err.find(signal == SIGKILL ? "ended in step" : "has not been heard of for") != std::string::npos);
    CHECK(end.err.find("rank 1 (process") != std::string::npos);
  }
}

}  // namespace plimsoll

int main(int argc, char** argv) {
  const bool launcher = std::system("command -v mpirun > /dev/null 2>&1") == 0;
  if (!launcher || !plimsoll::has_job_support()) {
    std::puts("skipped: there is no mpirun, or this build has no MPI (apt-get install libopenmpi-dev openmpi-bin)");
    return 77;
  }
  return Catch::Session().run(argc, argv);
}
