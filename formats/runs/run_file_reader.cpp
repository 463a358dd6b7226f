#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "core/base/digest.h"
#include "core/plan/expand.h"
#include "formats/text/json_node.h"
#include "formats/text/parse_json.h"
#include "formats/plans/plan_json.h"
#include "formats/runs/run_file.h"
#include "formats/runs/run_file_schema.h"
#include "formats/runs/statement.h"

namespace plimsoll {
namespace {

constexpr Bytes kLongestValue = 512 * kMiB;  // of a plan's text

/// Ends the reading: what the file holds cannot be what a writer wrote.
[[noreturn]] void damaged(const Database& database, std::string what) {
  throw EnvironmentError({.kind = ErrorKind::kInput,
                          .what = std::move(what),
                          .where = database.path(),
                          .remedy = "the file is damaged; copy it again from where it was made"});
}

/// Reads the tables of one open file into a RunFile.
class Reader {
 public:
  explicit Reader(Database& database) : database_(database) {}

  RunFile read() {
    database_.run("BEGIN");  // one consistent view, even while a run is writing
    read_meta();
    read_plans();
    read_traces();
    read_samples();
    read_records();
    return std::move(file_);
  }

 private:
  std::string meta(std::string_view key) {
    Statement row(database_, "SELECT value FROM meta WHERE key = ?");
    row.bind(key);
    return row.step() ? row.text(0) : std::string();
  }

  std::uint32_t natural(const Statement& row, int column, std::string_view what) {
    const std::int64_t value = row.integer(column);
    if (value < 0 || value > kMaxInt32) damaged(database_, fmt::format("{} {} is out of range", what, value));
    return static_cast<std::uint32_t>(value);
  }

  void read_meta();
  void read_plans();
  void read_traces();
  void read_events(std::int64_t id, NamedTrace& named);
  void read_steps(std::int64_t id, Trace& trace);
  void read_peaks(std::int64_t id, Trace& trace);
  void read_samples();
  void read_records();

  Database& database_;
  RunFile file_;
};

void Reader::read_meta() {
  file_.meta = {.kind = meta("kind"),
                .created = meta("created"),
                .tool_version = meta("tool_version"),
                .command = meta("command"),
                .machine = meta("machine")};
  file_.finished = meta("finished") == "yes";
}

void Reader::read_plans() {
  Statement row(database_, "SELECT name, digest, json FROM plans ORDER BY id");
  while (row.step()) {
    const std::string json = row.text(2);
    const std::string where = fmt::format("{} plan \"{}\"", database_.path(), row.text(0));
    Result<Plan> plan = read_plan(json, where);
    if (!plan) throw EnvironmentError(plan.error());
    if (digest_of(json) != row.text(1)) damaged(database_, fmt::format("the plan \"{}\" was changed", row.text(0)));
    file_.plans.push_back({.name = row.text(0), .digest = row.text(1), .plan = std::move(*plan)});
  }
}

std::vector<std::string> read_texts(const std::string& json, const std::string& where) {
  const auto document = parse_json(json, where);
  if (!document) throw EnvironmentError(document.error());
  JsonFault fault{.where = where, .error = {}};
  std::vector<std::string> texts;
  for (const JsonNode& item : JsonNode(*document, "", fault).elements()) texts.push_back(item.text());
  if (fault.error) throw EnvironmentError(*fault.error);
  return texts;
}

void Reader::read_traces() {
  Statement row(database_, "SELECT id, name, body, kind, plan_digest, source, calibrated_from FROM traces ORDER BY id");
  while (row.step()) {
    NamedTrace named{.name = row.text(1), .body = row.text(2), .trace = {}};
    const std::string kind = row.text(3);
    if (kind != "predicted" && kind != "measured")
      damaged(database_, fmt::format("a trace of the unknown kind '{}'", kind));
    named.trace.kind = kind == "predicted" ? TraceKind::kPredicted : TraceKind::kMeasured;
    named.trace.plan_digest = row.text(4);
    named.trace.source = row.text(5);
    named.trace.calibrated_from = read_texts(row.text(6), database_.path() + " traces.calibrated_from");
    read_events(row.integer(0), named);
    read_steps(row.integer(0), named.trace);
    read_peaks(row.integer(0), named.trace);
    file_.traces.push_back(std::move(named));
  }
}

void Reader::read_events(std::int64_t id, NamedTrace& named) {
  const Plan* plan = file_.plan(named.trace.plan_digest);
  const Body* body = plan == nullptr ? nullptr : plan->body(named.body);
  if (plan != nullptr && body == nullptr)
    damaged(database_, fmt::format("a trace of the unknown body '{}'", named.body));
  const std::size_t instructions = body == nullptr ? kMaxInt32 : instruction_count(*plan, *body);
  Statement row(database_,
                "SELECT step, instruction, start_ns, end_ns, status FROM events WHERE trace = ? "
                "ORDER BY step, instruction");
  row.bind(id);
  while (row.step()) {
    TraceEvent event{.step = natural(row, 0, "step"),
                     .instruction = natural(row, 1, "instruction"),
                     .start = Nanoseconds(row.integer(2)),
                     .end = Nanoseconds(row.integer(3)),
                     .status = static_cast<EventStatus>(natural(row, 4, "event status"))};
    if (event.status > EventStatus::kSkipped) damaged(database_, "an event of unknown status");
    if (event.end < event.start) damaged(database_, "an event that ends before it starts");
    if (event.instruction >= instructions) {
      damaged(database_, fmt::format("an event of instruction {}; the plan has {}", event.instruction, instructions));
    }
    named.trace.events.push_back(event);
  }
}

void Reader::read_steps(std::int64_t id, Trace& trace) {
  Statement row(database_,
                "SELECT step, start_ns, end_ns, loss, gradient_norm, learning_rate FROM step_summaries "
                "WHERE trace = ? ORDER BY step");
  row.bind(id);
  while (row.step()) {
    trace.steps.push_back({.step = natural(row, 0, "step"),
                           .start = Nanoseconds(row.integer(1)),
                           .end = Nanoseconds(row.integer(2)),
                           .loss = row.real(3),
                           .gradient_norm = row.real(4),
                           .learning_rate = row.real(5)});
  }
}

std::optional<TensorKind> tensor_kind(const std::string& name) {
  const std::vector<std::string> names = enum_names(TensorKind::kScalar);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<TensorKind>(i);
  }
  return std::nullopt;
}

void Reader::read_peaks(std::int64_t id, Trace& trace) {
  const Plan* plan = file_.plan(trace.plan_digest);
  const std::size_t spaces = plan == nullptr ? kMaxInt32 : plan->platform.spaces.size();
  Statement row(database_, "SELECT space, category IS NULL, category, bytes FROM peaks WHERE trace = ? ORDER BY id");
  row.bind(id);
  while (row.step()) {
    const SpaceId space(natural(row, 0, "memory space"));
    if (space.index >= spaces)
      damaged(database_, fmt::format("a peak of memory space {}; there are {}", space.index, spaces));
    if (row.integer(1) != 0) {
      trace.peaks.push_back({.space = space, .bytes = Bytes(row.integer(3)), .by_category = {}});
      continue;
    }
    const std::optional<TensorKind> kind = tensor_kind(row.text(2));
    if (!kind || trace.peaks.empty())
      damaged(database_, fmt::format("a peak of the unknown category '{}'", row.text(2)));
    trace.peaks.back().by_category.emplace_back(*kind, Bytes(row.integer(3)));
  }
}

void Reader::read_samples() {
  Statement memory(database_, "SELECT time_ns, space, category, bytes FROM memory_samples ORDER BY id");
  while (memory.step()) {
    file_.memory.push_back({.time = Nanoseconds(memory.integer(0)),
                            .space = memory.text(1),
                            .category = memory.text(2),
                            .bytes = Bytes(memory.integer(3))});
  }
  Statement cost(database_, "SELECT key, duration_ns, plan_digest FROM cost_samples ORDER BY id");
  while (cost.step()) {
    file_.cost_samples.push_back(
        {.key = cost.text(0), .duration = Nanoseconds(cost.integer(1)), .plan_digest = cost.text(2)});
  }
}

void Reader::read_records() {
  Statement evaluation(database_, "SELECT step, loss FROM evaluations ORDER BY id");
  while (evaluation.step()) {
    file_.evaluations.push_back({.step = natural(evaluation, 0, "step"), .loss = evaluation.real(1)});
  }
  Statement checkpoint(database_, "SELECT step, path, digest FROM checkpoints ORDER BY id");
  while (checkpoint.step()) {
    file_.checkpoints.push_back(
        {.step = natural(checkpoint, 0, "step"), .path = checkpoint.text(1), .digest = checkpoint.text(2)});
  }
  Statement log(database_, "SELECT time_ns, level, text FROM log ORDER BY id");
  while (log.step())
    file_.log.push_back({.time = Nanoseconds(log.integer(0)), .level = log.text(1), .text = log.text(2)});
}

}  // namespace

const Plan* RunFile::plan(std::string_view digest) const {
  for (const NamedPlan& named : plans) {
    if (named.digest == digest) return &named.plan;
  }
  return nullptr;
}

const NamedTrace* RunFile::trace(std::string_view name) const {
  for (const NamedTrace& named : traces) {
    if (named.name == name) return &named;
  }
  return nullptr;
}

std::vector<StepSummary> RunFile::steps() const {
  const NamedTrace* warm_up = trace("warm-up");
  const NamedTrace* run = trace("run");
  std::vector<StepSummary> all;
  if (warm_up != nullptr) all = warm_up->trace.steps;
  if (run == nullptr || run->trace.steps.empty()) return all;
  const std::vector<StepSummary>& later = run->trace.steps;
  if (all.empty() || all.back().step + 1 != later.front().step) return later;  // older files repeat the warm-up's steps
  all.insert(all.end(), later.begin(), later.end());
  return all;
}

const NamedTrace* RunFile::last_trace() const {
  const NamedTrace* run = trace("run");
  return run != nullptr ? run : trace("warm-up");
}

const Plan* RunFile::last_plan() const {
  const NamedTrace* last = last_trace();
  return last == nullptr ? nullptr : plan(last->trace.plan_digest);
}

namespace {

bool folder_may_be_written(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return ::faccessat(AT_FDCWD, folder.empty() ? "." : folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
}

Error needs_recovery(const std::string& path) {
  return {.kind = ErrorKind::kEnvironment,
          .what = fmt::format("the run was killed, and what it had committed stands in {}-wal, which cannot be recovered "
                              "in a folder that may not be written",
                              path),
          .where = path,
          .remedy = "copy both files into a folder that may be written, and name the copy"};
}

}  // namespace

Result<RunFile> read_run_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    const bool folder = std::filesystem::is_directory(path, ignored);
    return fail({.kind = ErrorKind::kInput, .what = folder ? "this is a folder" : "there is no such file", .where = path, .remedy = {}});
  }
  if (access(path.c_str(), R_OK) != 0) {
    return fail({.kind = ErrorKind::kInput, .what = "the file cannot be opened for reading", .where = path, .remedy = {}});
  }
  const bool writable = folder_may_be_written(path);
  try {
    // Without a log there is nothing to recover, and what may not be written does not change.
    Database database(path, writable || has_log(path) ? Database::Mode::kRead : Database::Mode::kReadUnchanging);
    database.restrain(kLongestValue);
    if (auto known = check_version(database); !known) return fail(known.error());
    if (auto sound = check_tables(database); !sound) return fail(sound.error());
    return Reader(database).read();
  } catch (const EnvironmentError& error) {
    const bool cannot_recover = !writable && has_log(path) && error.error().kind == ErrorKind::kEnvironment;
    return fail(cannot_recover ? needs_recovery(path) : error.error());
  }
}

}  // namespace plimsoll
