#include "formats/runs/run_file_writer.h"

#include <filesystem>
#include <utility>

#include "formats/runs/run_file_schema.h"

namespace plimsoll {
namespace {

constexpr std::chrono::milliseconds kCommitInterval{250};

std::unique_ptr<Database> create(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    throw EnvironmentError({.kind = ErrorKind::kInput,
                            .what = "the file exists already",
                            .where = path,
                            .remedy = "choose another name or delete it"});
  }
  auto database = std::make_unique<Database>(path, Database::Mode::kCreate);
  database->run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  migrate(*database);
  return database;
}

}  // namespace

RunFileWriter::RunFileWriter(const std::string& path, const RunMeta& meta)
    : path_(path), database_(create(path)), tables_(std::make_unique<RunFileTables>(*database_)) {
  database_->run("BEGIN");
  tables_->set_meta("kind", meta.kind);
  tables_->set_meta("created", meta.created);
  tables_->set_meta("tool_version", meta.tool_version);
  tables_->set_meta("command", meta.command);
  tables_->set_meta("machine", meta.machine);
  tables_->set_meta("finished", "no");
  database_->run("COMMIT");
  thread_ = std::thread([this] { write_until_closed(); });
}

RunFileWriter::~RunFileWriter() {
  try {
    close();
  } catch (...) {  // a destructor has nobody to tell; close() has
  }
}

void RunFileWriter::add_plan(std::string name, Plan plan) { enqueue(PlanRecord{std::move(name), std::move(plan)}); }

StoredTraceId RunFileWriter::add_trace(NamedTrace named) {
  StoredTraceId id;
  {
    const std::lock_guard lock(mutex_);
    id = StoredTraceId(traces_++);
  }
  enqueue(TraceRecord{id, std::move(named)});
  return id;
}

void RunFileWriter::add_events(StoredTraceId trace, std::vector<TraceEvent> events) {
  enqueue(EventsRecord{trace, std::move(events)});
}

void RunFileWriter::add_steps(StoredTraceId trace, std::vector<StepSummary> steps) {
  enqueue(StepsRecord{trace, std::move(steps)});
}

void RunFileWriter::add_peaks(StoredTraceId trace, std::vector<SpacePeak> peaks) {
  enqueue(PeaksRecord{trace, std::move(peaks)});
}

void RunFileWriter::add_memory(std::vector<MemorySample> samples) { enqueue(std::move(samples)); }
void RunFileWriter::add_cost_samples(std::vector<CostSample> samples) { enqueue(std::move(samples)); }
void RunFileWriter::add_evaluation(Evaluation evaluation) { enqueue(evaluation); }
void RunFileWriter::add_checkpoint(CheckpointRecord checkpoint) { enqueue(std::move(checkpoint)); }
void RunFileWriter::add_log(LogLine line) { enqueue(std::move(line)); }

void RunFileWriter::enqueue(RunRecord record) {
  {
    const std::lock_guard lock(mutex_);
    throw_failure();
    if (stopping_) throw EnvironmentError({ErrorKind::kEnvironment, "the run file is closed", path_, {}});
    queue_.push_back(std::move(record));
    ++added_count_;
  }
  work_.notify_one();
}

void RunFileWriter::flush() { wait_for_commit(false); }

void RunFileWriter::flush_to_disk() { wait_for_commit(true); }

void RunFileWriter::wait_for_commit(bool to_disk) {
  std::unique_lock lock(mutex_);
  const std::uint64_t wanted = added_count_;
  hurry_ = true;
  to_disk_ = to_disk_ || to_disk;
  work_.notify_one();
  committed_.wait(lock, [&] { return failure_ || (committed_count_ >= wanted && !(to_disk && to_disk_)); });
  throw_failure();
}

void RunFileWriter::close() {
  stop();
  if (!database_) return throw_failure();
  const std::unique_ptr<Database> database = std::move(database_);
  const std::unique_ptr<RunFileTables> tables = std::move(tables_);
  throw_failure();
  tables->set_meta("finished", "yes");
  // A program that reads the file just now keeps the companions alive; the file is whole with them.
  if (database->run_unless_locked("PRAGMA wal_checkpoint(TRUNCATE)")) {
    // One sector of the first page changes, so that a journal in memory will do. One on the disk could be left by a kill, and who
    // may only read cannot roll it back.
    static_cast<void>(database->run_unless_locked("PRAGMA journal_mode = MEMORY"));
  }
}

void RunFileWriter::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void RunFileWriter::throw_failure() const {
  if (failure_) std::rethrow_exception(failure_);
}

void RunFileWriter::write_until_closed() {
  try {
    while (const std::optional<Batch> batch = next_batch()) {
      commit(*batch);
      const std::lock_guard lock(mutex_);
      committed_count_ += batch->records.size();
      if (batch->to_disk) to_disk_ = false;
      committed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    committed_.notify_all();
  }
}

/// All that was added since the last batch, a quarter of a second after that at the earliest unless somebody
/// waits; nothing when it is time to end.
std::optional<RunFileWriter::Batch> RunFileWriter::next_batch() {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [&] { return stopping_ || to_disk_ || !queue_.empty(); });
  work_.wait_until(lock, last_commit_ + kCommitInterval, [&] { return stopping_ || hurry_; });
  hurry_ = false;
  if (queue_.empty() && !to_disk_) return std::nullopt;
  return Batch{std::exchange(queue_, {}), to_disk_};
}

/// The database's own checkpoint syncs its log first, and after it made the log the folder, then the file (sqlite.org/wal.html).
void RunFileWriter::commit(const Batch& batch) {
  database_->run("BEGIN");
  for (const RunRecord& record : batch.records) {
    std::visit([&](const auto& value) { tables_->insert(value); }, record);
  }
  database_->run("COMMIT");
  if (batch.to_disk) database_->run("PRAGMA wal_checkpoint(PASSIVE)");
  last_commit_ = std::chrono::steady_clock::now();
}

}  // namespace plimsoll
