#include "formats/runs/run_file.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "formats/plans/plan_json.h"
#include "formats/runs/run_file_schema.h"
#include "formats/runs/run_file_writer.h"
#include "formats/runs/statement.h"
#include "tests/support/random_plan.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

const RunMeta kMeta{"run", "2025-01-02T03:04:05Z", "0.1.0", "plimsoll run gpt2 --out 'a b'", "a computer"};

NamedTrace measured_trace(const Plan& plan) {
  Trace trace{.kind = TraceKind::kMeasured, .plan_digest = plan_digest(plan), .source = "cpu"};
  trace.calibrated_from = {"0123456789abcdef", "\"odd\""};
  trace.events = {{0, 0, Nanoseconds(0), Nanoseconds(10), EventStatus::kMeasured},
                  {0, 1, Nanoseconds(10), Nanoseconds(10), EventStatus::kSkipped},
                  {2, 0, Nanoseconds(50), Nanoseconds(std::int64_t{1} << 60), EventStatus::kBounded}};
  trace.steps = {{0, Nanoseconds(0), Nanoseconds(20), 0.1 + 0.2, 1.0 / 3.0, 3e-4},
                 {1, Nanoseconds(20), Nanoseconds(45), std::numeric_limits<double>::infinity(), 5e-324, 0}};
  trace.peaks = {{SpaceId(1), Bytes(100), {{TensorKind::kActivation, Bytes(60)}, {TensorKind::kParameter, Bytes(40)}}},
                 {SpaceId(0), Bytes(7), {}}};
  return {.name = "run", .body = "step", .trace = trace};
}

/// A file with one of everything.
void write_everything(const std::string& path, const Plan& plan) {
  RunFileWriter writer(path, kMeta);
  writer.add_plan("run", plan);
  writer.add_trace(measured_trace(plan));
  writer.add_memory({{Nanoseconds(5), "host", "process", Bytes(123456789)}});
  writer.add_cost_samples({{"linear fp32 1x2x3", Nanoseconds(77), "0123456789abcdef"}});
  writer.add_evaluation({.step = 1, .loss = 2.0 / 3.0});
  writer.add_checkpoint({.step = 1, .path = "runs/ö", .digest = "feed"});
  writer.add_log({Nanoseconds(9), "warning", "it's \"odd\""});
  writer.close();
}

void check_events(const std::vector<TraceEvent>& found, const std::vector<TraceEvent>& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(found[i].step == wanted[i].step);
    CHECK(found[i].instruction == wanted[i].instruction);
    CHECK(found[i].start == wanted[i].start);
    CHECK(found[i].end == wanted[i].end);
    CHECK(found[i].status == wanted[i].status);
  }
}

std::string refusal(const std::string& path) {
  const Result<RunFile> file = read_run_file(path);
  return file ? "read without complaint" : file.error().text();
}

/// Changes a file behind the program's back.
void edit(const std::string& path, const std::string& sql) { Database(path, Database::Mode::kCreate).run(sql); }

void write_bytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("read_run_file gives back what was added, in the order in which it was added") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.plimsoll");
  const Plan plan = random_plan({.seed = 3});
  write_everything(path, plan);
  const Result<RunFile> file = read_run_file(path);
  REQUIRE((file ? "" : file.error().text()) == "");
  CHECK(file->meta == kMeta);
  CHECK(file->finished);
  REQUIRE(file->plan(plan_digest(plan)) != nullptr);
  CHECK(write_plan(*file->plan(plan_digest(plan))) == write_plan(plan));
  const NamedTrace wanted = measured_trace(plan);
  const NamedTrace* trace = file->trace("run");
  REQUIRE(trace != nullptr);
  CHECK(trace->trace.kind == TraceKind::kMeasured);
  CHECK(trace->trace.source == "cpu");
  CHECK(trace->trace.calibrated_from == wanted.trace.calibrated_from);
  check_events(trace->trace.events, wanted.trace.events);
  REQUIRE(trace->trace.peaks.size() == 2);
  CHECK(trace->trace.peaks[0].by_category == wanted.trace.peaks[0].by_category);
  CHECK(trace->trace.peaks[1].bytes == Bytes(7));
  CHECK(file->memory == std::vector<MemorySample>{{Nanoseconds(5), "host", "process", Bytes(123456789)}});
  CHECK(file->cost_samples == std::vector<CostSample>{{"linear fp32 1x2x3", Nanoseconds(77), "0123456789abcdef"}});
  CHECK(file->evaluations == std::vector<Evaluation>{{1, 2.0 / 3.0}});
  CHECK(file->checkpoints == std::vector<CheckpointRecord>{{1, "runs/ö", "feed"}});
  CHECK(file->log == std::vector<LogLine>{{Nanoseconds(9), "warning", "it's \"odd\""}});
}

TEST_CASE("a step that is added once more is replaced: of a device the true end is known later") {
  const TemporaryFolder folder;
  const Plan plan = random_plan({.seed = 1});
  RunFileWriter writer(folder.file("run"), kMeta);
  writer.add_plan("run", plan);
  const StoredTraceId trace = writer.add_trace({.name = "run", .trace = {.plan_digest = plan_digest(plan)}});
  for (const std::int64_t end : {20, 25}) writer.add_steps(trace, {{0, Nanoseconds(0), Nanoseconds(end), 1.5}});
  writer.close();
  const auto steps = read_run_file(folder.file("run")).value().steps();
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].end == Nanoseconds(25));
}

TEST_CASE("losses and norms come back to the last bit, NaN and infinities too") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.plimsoll");
  {
    RunFileWriter writer(path, kMeta);
    NamedTrace named{.name = "run", .trace = {}};
    named.trace.steps = {{0, {}, {}, 0.1 + 0.2, 1.0 / 3.0, 5e-324},
                         {1, {}, {}, std::nan(""), std::numeric_limits<double>::infinity(), -0.0}};
    writer.add_trace(named);
    writer.close();
  }
  const Result<RunFile> file = read_run_file(path);
  REQUIRE(file);
  const std::vector<StepSummary>& steps = file->traces[0].trace.steps;
  CHECK(steps[0].loss == 0.1 + 0.2);
  CHECK(steps[0].gradient_norm == 1.0 / 3.0);
  CHECK(steps[0].learning_rate == 5e-324);
  CHECK(std::isnan(steps[1].loss));
  CHECK(steps[1].gradient_norm == std::numeric_limits<double>::infinity());
}

TEST_CASE("a closed run file is one file") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.plimsoll");
  write_everything(path, random_plan({.seed = 1}));
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  CHECK(files == 1);
}

TEST_CASE("a file that is being written can be read, and says that it is not finished") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.plimsoll");
  RunFileWriter writer(path, kMeta);
  writer.add_log({Nanoseconds(1), "info", "first"});
  writer.flush();
  const Result<RunFile> file = read_run_file(path);
  REQUIRE(file);
  CHECK_FALSE(file->finished);
  CHECK(file->log.size() == 1);
}

TEST_CASE("adding from many threads loses nothing") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.plimsoll");
  RunFileWriter writer(path, kMeta);
  const StoredTraceId trace = writer.add_trace({.name = "run", .trace = {}});
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < 250; ++i) {
        writer.add_events(trace, {{t, i, Nanoseconds(i), Nanoseconds(i + 1), EventStatus::kMeasured}});
        writer.add_steps(trace, {{.step = 1000 * t + i}});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  writer.close();
  const Result<RunFile> file = read_run_file(path);
  REQUIRE(file);
  CHECK(file->traces[0].trace.events.size() == 1000);
  CHECK(file->traces[0].trace.steps.size() == 1000);
  CHECK(file->traces[0].trace.events[251].step == 1);
  CHECK(file->traces[0].trace.events[251].instruction == 1);
}

TEST_CASE("the views answer a person's questions") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.plimsoll");
  const Plan plan = random_plan({.seed = 3});
  write_everything(path, plan);
  Database database(path, Database::Mode::kRead);
  CHECK(database.integer("SELECT count(*) FROM ops") == 3);
  CHECK(database.text("SELECT status FROM ops WHERE step = 0 AND instruction = 1") == "skipped");
  CHECK(database.integer("SELECT duration_ns FROM ops WHERE step = 0 AND instruction = 0") == 10);
  const FlatBody body = expand(plan, plan.bodies[0]);
  const std::string& queue = plan.platform.at(body.list.instructions[1].queue).name;
  CHECK(database.text("SELECT queue FROM ops WHERE step = 0 AND instruction = 1") == queue);
  CHECK(database.integer("SELECT count(*) FROM instructions") == static_cast<std::int64_t>(body.size()));
  CHECK(database.integer("SELECT count(*) FROM steps WHERE seconds = 20e-9") == 1);
  CHECK(database.text("SELECT space FROM memory WHERE bytes = 60") == plan.platform.spaces[1].name);
  CHECK(database.text("SELECT category FROM memory WHERE bytes = 100") == "arena");
  CHECK(database.text("SELECT value FROM strategy WHERE key = 'optimizer'") == to_text(plan.strategy.optimizer));
  CHECK(database.integer("SELECT count(*) FROM queues") == static_cast<std::int64_t>(plan.platform.queues.size()));
  CHECK(database.integer("PRAGMA user_version") == kRunFileVersion);
  CHECK(database.integer("PRAGMA application_id") == kRunFileApplicationId);
}

TEST_CASE("files that are no run files are refused by name") {
  const TemporaryFolder folder;
  const std::string path = folder.file("x");
  CHECK(refusal(path) == path + ": there is no such file");
  write_bytes(path, "");
  CHECK(refusal(path).find("an empty file") != std::string::npos);
  write_bytes(path, std::string(5000, 'x'));
  CHECK(refusal(path).find("file is not a database") != std::string::npos);
  CHECK(refusal(folder.path()) == folder.path() + ": this is a folder");
}

TEST_CASE("a run file of a newer version is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.plimsoll");
  write_everything(path, random_plan({.seed = 1}));
  edit(path, "PRAGMA user_version = 2");
  CHECK(refusal(path) == path + ": run file version 2 is unknown; this program reads version 1 (update plimsoll)");
}

TEST_CASE("content that no writer wrote is refused") {
  const TemporaryFolder folder;
  const std::string good = folder.file("good");
  write_everything(good, random_plan({.seed = 1}));
  const auto after = [&](const std::string& sql) {
    const std::string path = folder.file("edited");
    std::filesystem::copy_file(good, path, std::filesystem::copy_options::overwrite_existing);
    edit(path, sql);
    return refusal(path);
  };
  CHECK(after("UPDATE events SET instruction = 100000 WHERE step = 2").find("instruction 100000") != std::string::npos);
  CHECK(after("UPDATE events SET status = 9").find("unknown status") != std::string::npos);
  CHECK(after("UPDATE events SET end_ns = -5").find("ends before it starts") != std::string::npos);
  CHECK(after("UPDATE peaks SET space = 77").find("memory space 77") != std::string::npos);
  CHECK(after("UPDATE peaks SET category = 'gold' WHERE category IS NOT NULL").find("'gold'") != std::string::npos);
  CHECK(after("UPDATE traces SET kind = 'wished'").find("'wished'") != std::string::npos);
  CHECK(after("UPDATE traces SET body = 'soul'").find("'soul'") != std::string::npos);
  CHECK(after("UPDATE plans SET json = replace(json, '\"resident\"', '\"president\"')").find("was changed") !=
        std::string::npos);
  CHECK(after("UPDATE plans SET json = '{'").find("plan \"run\"") != std::string::npos);
  CHECK(after("DROP TABLE events").find("no such table") != std::string::npos);
  CHECK(after("DROP TABLE log; CREATE VIEW log AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
              "SELECT i AS id, i AS time_ns, 'info' AS level, 'x' AS text FROM n")
            .find("no such table: log") != std::string::npos);
  CHECK(after("ALTER TABLE log ADD COLUMN more TEXT AS (hex(zeroblob(400000000)))").find("not as a run's writer") !=
        std::string::npos);
}

TEST_CASE("a truncated or scribbled run file never crashes the reader") {
  const TemporaryFolder folder;
  const std::string good = folder.file("good");
  write_everything(good, random_plan({.seed = 2}));
  const std::string bytes = read_bytes(good);
  const std::string path = folder.file("damaged");
  for (std::size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 60) {
    write_bytes(path, bytes.substr(0, length));
    INFO("length " << length);
    CHECK_FALSE(read_run_file(path));
  }
  std::uint64_t state = 5;
  for (int round = 0; round < 200; ++round) {
    std::string damaged = bytes;
    for (int flips = 0; flips < 8; ++flips) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      damaged[(state >> 20) % damaged.size()] = static_cast<char>(state >> 56);
    }
    write_bytes(path, damaged);
    const Result<RunFile> file = read_run_file(path);
    if (!file) CHECK_FALSE(file.error().what.empty());
  }
}

TEST_CASE("a writer refuses an existing file and a folder that is not there") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.plimsoll");
  write_bytes(path, "precious");
  CHECK_THROWS_AS(RunFileWriter(path, kMeta), EnvironmentError);
  CHECK(read_bytes(path) == "precious");
  CHECK_THROWS_AS(RunFileWriter(folder.file("no/such/folder"), kMeta), EnvironmentError);
}

TEST_CASE("nothing can be added to a closed file") {
  const TemporaryFolder folder;
  RunFileWriter writer(folder.file("run.plimsoll"), kMeta);
  writer.close();
  writer.close();
  CHECK_THROWS_AS(writer.add_log({Nanoseconds(0), "info", "late"}), EnvironmentError);
}

}  // namespace plimsoll::test
