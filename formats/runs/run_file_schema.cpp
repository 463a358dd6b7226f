#include "formats/runs/run_file_schema.h"

#include <fmt/format.h>

#include <array>

#include "formats/runs/statement.h"

namespace plimsoll {
namespace {

/// Tables hold what was recorded; views are for people with a database shell.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE plans(id INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, json TEXT NOT NULL);
-- Bodies of the plans written out. Derived from the JSON, for queries.
CREATE TABLE instructions(plan_digest TEXT NOT NULL, body TEXT NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL,
  kind TEXT NOT NULL, queue TEXT NOT NULL, phase TEXT NOT NULL, layer INTEGER, micro_batch INTEGER NOT NULL,
  bytes INTEGER NOT NULL, PRIMARY KEY(plan_digest, body, id)) WITHOUT ROWID;

CREATE TABLE traces(id INTEGER PRIMARY KEY, name TEXT NOT NULL, body TEXT NOT NULL, kind TEXT NOT NULL,
  plan_digest TEXT NOT NULL, source TEXT NOT NULL, calibrated_from TEXT NOT NULL);
CREATE TABLE events(trace INTEGER NOT NULL, step INTEGER NOT NULL, instruction INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, status INTEGER NOT NULL,
  PRIMARY KEY(trace, step, instruction)) WITHOUT ROWID;
CREATE TABLE event_status(status INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO event_status VALUES (0, 'predicted'), (1, 'measured'), (2, 'bounded'), (3, 'skipped');
CREATE TABLE step_summaries(trace INTEGER NOT NULL, step INTEGER NOT NULL, start_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL, loss REAL, gradient_norm REAL, learning_rate REAL, PRIMARY KEY(trace, step)) WITHOUT ROWID;
-- One row a category, and one with category NULL: the arena's high-water mark.
CREATE TABLE peaks(id INTEGER PRIMARY KEY, trace INTEGER NOT NULL, space INTEGER NOT NULL, category TEXT,
  bytes INTEGER NOT NULL);
CREATE TABLE memory_samples(id INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, space TEXT NOT NULL,
  category TEXT NOT NULL, bytes INTEGER NOT NULL);

CREATE TABLE cost_samples(id INTEGER PRIMARY KEY, key TEXT NOT NULL, duration_ns INTEGER NOT NULL,
  plan_digest TEXT NOT NULL);
CREATE TABLE evaluations(id INTEGER PRIMARY KEY, step INTEGER NOT NULL, loss REAL);
CREATE TABLE checkpoints(id INTEGER PRIMARY KEY, step INTEGER NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TABLE log(id INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, level TEXT NOT NULL, text TEXT NOT NULL);

CREATE VIEW ops AS
  SELECT traces.name AS trace, events.step, events.instruction, instructions.name, instructions.kind,
    instructions.queue, instructions.phase, instructions.layer, instructions.micro_batch, instructions.bytes,
    events.start_ns, events.end_ns, events.end_ns - events.start_ns AS duration_ns, event_status.name AS status
  FROM events JOIN traces ON traces.id = events.trace
    LEFT JOIN instructions ON instructions.plan_digest = traces.plan_digest AND instructions.body = traces.body
      AND instructions.id = events.instruction
    LEFT JOIN event_status ON event_status.status = events.status;
CREATE VIEW steps AS
  SELECT traces.name AS trace, traces.kind, step, (end_ns - start_ns) * 1e-9 AS seconds, loss, gradient_norm,
    learning_rate, start_ns, end_ns
  FROM step_summaries JOIN traces ON traces.id = step_summaries.trace;
CREATE VIEW memory AS
  SELECT traces.name AS trace, traces.kind,
    coalesce((SELECT json_extract(json, '$.platform.spaces[' || space || '].name') FROM plans
              WHERE digest = traces.plan_digest), space) AS space,
    coalesce(category, 'arena') AS category, bytes
  FROM peaks JOIN traces ON traces.id = peaks.trace;
CREATE VIEW model AS
  SELECT plans.name AS plan, fields.key, fields.value FROM plans, json_each(plans.json, '$.model') AS fields;
CREATE VIEW recipe AS
  SELECT plans.name AS plan, fields.key, fields.value FROM plans, json_each(plans.json, '$.recipe') AS fields;
CREATE VIEW strategy AS
  SELECT plans.name AS plan, fields.key, fields.value FROM plans, json_each(plans.json, '$.strategy') AS fields;
CREATE VIEW queues AS
  SELECT plans.name AS plan, fields.key AS id, json_extract(fields.value, '$.name') AS name,
    json_extract(fields.value, '$.kind') AS kind, json_extract(fields.value, '$.width') AS width
  FROM plans, json_each(plans.json, '$.platform.queues') AS fields;
)sql";

/// `sql[v]` brings a database from user_version v to v + 1.
constexpr std::array<const char*, kRunFileVersion> kMigrations{kVersion1};

tl::unexpected<Error> refuse(const Database& database, std::string what, std::string remedy) {
  return fail(
      {.kind = ErrorKind::kInput, .what = std::move(what), .where = database.path(), .remedy = std::move(remedy)});
}

}  // namespace

void migrate(Database& database) {
  const std::int64_t version = database.integer("PRAGMA user_version");
  database.run("BEGIN IMMEDIATE");
  for (std::int64_t v = version; v < kRunFileVersion; ++v) database.run(kMigrations[static_cast<std::size_t>(v)]);
  database.run(fmt::format("PRAGMA application_id = {}", kRunFileApplicationId));
  database.run(fmt::format("PRAGMA user_version = {}", kRunFileVersion));
  database.run("COMMIT");
}

Result<void> check_version(Database& database) {
  if (database.integer("PRAGMA page_count") == 0)
    return refuse(database, "an empty file", "name a file that 'plimsoll run' wrote");
  if (database.integer("PRAGMA application_id") != kRunFileApplicationId) {
    return refuse(database, "a database, but not a run file of plimsoll", "name a file that 'plimsoll run' wrote");
  }
  const std::int64_t version = database.integer("PRAGMA user_version");
  if (version == kRunFileVersion) return {};
  return refuse(database,
                fmt::format("run file version {} is unknown; this program reads version {}", version, kRunFileVersion),
                version > kRunFileVersion ? "update plimsoll" : "");
}

Result<void> check_tables(Database& database) {
  Database expected(":memory:", Database::Mode::kCreate);
  migrate(expected);
  Statement table(expected, "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  while (table.step()) {
    Statement found(database, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?");
    found.bind(table.text(0));
    const bool there = found.step();
    if (there && found.text(0) == table.text(1)) continue;
    return refuse(database,
                  there ? fmt::format("the table {} is not as a run's writer makes it", table.text(0))
                        : "no such table: " + table.text(0),
                  "the file is damaged; copy it again from where it was made");
  }
  return {};
}

}  // namespace plimsoll
