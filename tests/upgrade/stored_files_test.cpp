// Files that earlier programs wrote (tests/upgrade/README.md says which) open with this one; newer ones are refused in
// words.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "core/plan/verify_plan.h"
#include "formats/machines/machine_json.h"
#include "formats/plans/plan_json.h"
#include "formats/plans/strategy_json.h"
#include "formats/runs/run_file.h"
#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using Catch::Contains;

std::string stored(const std::string& name) { return read_whole(PLIMSOLL_STORED "/" + name); }

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

/// A folder with the stored run and its checkpoint under the names that they were written with.
struct StoredRun {
  explicit StoredRun(const std::string& state = "state-v1.safetensors") {
    write_file(folder.file("run.plimsoll"), stored("run-v1.sqlite"));
    write_file(folder.file("run.plimsoll.checkpoint.safetensors"), stored(state));
    write_file(folder.file("corpus.txt"), stored("corpus.txt"));
  }
  ChildEnd resume() const {
    return plimsoll_in(folder, {"run", "--resume", "run.plimsoll", "--data", "corpus.txt", "--steps", "8", "-o",
                                "next.plimsoll", "--json"});
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("a run file of version 1 opens whole") {
  const StoredRun stored_run;
  const auto run = read_run_file(stored_run.folder.file("run.plimsoll"));
  if (!run) FAIL(run.error().text());
  CHECK(run->meta.kind == "run");
  CHECK(run->finished);
  REQUIRE(run->last_plan() != nullptr);
  CHECK(verify_plan(*run->last_plan()));
  CHECK(run->steps().size() == 4);
  CHECK(run->checkpoints.size() == 1);
}

TEST_CASE("a run that an earlier program wrote goes on from its checkpoint") {
  for (const char* state : {"state-v1.safetensors", "state-v2-without-mark.safetensors"}) {
    const StoredRun run(state);
    const ChildEnd end = run.resume();
    INFO(state << ": " << end.err);
    REQUIRE(end.code == 0);
    const auto losses = nlohmann::json::parse(end.out)["losses"];
    REQUIRE(losses.size() == 4);
    // As that program's own resumption printed it; other processors round otherwise.
    CHECK(losses[0].get<double>() == Approx(5.5409583875193986).epsilon(1e-5));
  }
}

TEST_CASE("a state that does not say which data it is of goes on with any, and those that are written then say it") {
  const StoredRun run("state-v2-without-mark.safetensors");
  const std::string corpus = stored("corpus.txt");
  write_file(run.folder.file("corpus.txt"), corpus + corpus);
  REQUIRE(run.resume().code == 0);
  write_file(run.folder.file("corpus.txt"), corpus);
  const ChildEnd end = plimsoll_in(
      run.folder, {"run", "--resume", "next.plimsoll", "--data", "corpus.txt", "--steps", "9", "-o", "last.plimsoll"});
  CHECK(end.code == 2);
  CHECK_THAT(end.err, Contains("next.plimsoll.checkpoint.safetensors is of corpus.txt (8000 bytes"));
}

TEST_CASE("newer files are refused with both versions and what to do") {
  const auto error = [](const auto& result) {
    return result ? std::string("read without complaint") : result.error().text();
  };
  const StoredRun run;
  const auto file = read_run_file(run.folder.file("run.plimsoll"));
  REQUIRE(file);
  const Plan& plan = *file->last_plan();
  const auto newer = [](const std::string& text) { return replaced(text, "\"format_version\": 1", "\"format_version\": 2"); };
  CHECK_THAT(error(read_plan(newer(write_plan(plan)), "p.json")),
             Contains("format_version 2 is unknown; this program reads version 1") && Contains("update plimsoll"));
  CHECK_THAT(error(read_strategy(newer(write_strategy(plan.strategy)), "s.json")), Contains("is unknown"));
  CHECK_THAT(error(read_machine(newer(write_machine(plan.platform)), "m.json")), Contains("is unknown"));

  std::string bytes = stored("run-v1.sqlite");
  bytes[63] = 99;  // SQLite's header keeps user_version, big-endian, in bytes 60 to 63
  write_file(run.folder.file("run.plimsoll"), bytes);
  const ChildEnd end = plimsoll_in(run.folder, {"show", "run.plimsoll"});
  CHECK(end.code == 2);
  CHECK_THAT(end.err, Contains("run file version 99 is unknown") && Contains("update plimsoll"));
}

TEST_CASE("a training state of a newer version is refused with both versions") {
  const StoredRun run;
  write_file(run.folder.file("run.plimsoll.checkpoint.safetensors"),
             replaced(stored("state-v1.safetensors"), R"("format_version":"1")", R"("format_version":"9")"));
  const ChildEnd end = run.resume();
  CHECK(end.code == 2);
  CHECK_THAT(end.out, Contains("\"error\"") && !Contains("\"losses\""));
  CHECK_THAT(end.err, Contains("version '9'") && Contains("reads versions 1 and 2"));
}

}  // namespace plimsoll::test
