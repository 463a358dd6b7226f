#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "formats/runs/run_file_tables.h"

namespace plimsoll {

/// Writes a run file while a run goes on. All add_ calls may come from any thread and only enqueue; one thread of the
/// writer commits, at most four times a second unless flushed. What is committed survives the death of the process. When
/// the disk fails, the next call throws the EnvironmentError; what was committed before stays readable.
class RunFileWriter {
 public:
  /// Makes the file, which must not exist yet. Throws EnvironmentError.
  RunFileWriter(const std::string& path, const RunMeta& meta);
  /// Closes if close() was not called; a failure then is lost.
  ~RunFileWriter();
  RunFileWriter(const RunFileWriter&) = delete;
  RunFileWriter& operator=(const RunFileWriter&) = delete;

  /// The plan's indices must be in range.
  void add_plan(std::string name, Plan plan);
  /// Starts a trace with the events, steps and peaks that it has so far.
  StoredTraceId add_trace(NamedTrace named);
  /// Adds events; each (step, instruction) of a trace at most once.
  void add_events(StoredTraceId trace, std::vector<TraceEvent> events);
  /// Adds steps; one that the trace has already is replaced.
  void add_steps(StoredTraceId trace, std::vector<StepSummary> steps);
  void add_peaks(StoredTraceId trace, std::vector<SpacePeak> peaks);
  void add_memory(std::vector<MemorySample> samples);
  void add_cost_samples(std::vector<CostSample> samples);
  void add_evaluation(Evaluation evaluation);
  void add_checkpoint(CheckpointRecord checkpoint);
  void add_log(LogLine line);

  /// Commits everything added before, and returns then.
  void flush();
  /// The same, and everything so far is on the disk then: it survives a loss of power too.
  void flush_to_disk();
  /// Commits the rest, marks the run as finished and leaves one file without companions. Nothing can be added
  /// afterwards.
  void close();

 private:
  void wait_for_commit(bool to_disk);
  void enqueue(RunRecord record);
  void write_until_closed();
  struct Batch {
    std::vector<RunRecord> records;
    bool to_disk = false;
  };
  std::optional<Batch> next_batch();
  void commit(const Batch& batch);
  void throw_failure() const;
  void stop();

  std::string path_;
  std::unique_ptr<Database> database_;  // used by the writer thread alone while that runs
  std::unique_ptr<RunFileTables> tables_;

  mutable std::mutex mutex_;
  std::condition_variable work_;       // something was added, or stop
  std::condition_variable committed_;  // a batch was committed, or failed
  std::vector<RunRecord> queue_;
  std::uint64_t added_count_ = 0;
  std::uint64_t committed_count_ = 0;
  std::uint32_t traces_ = 0;
  bool stopping_ = false;
  bool hurry_ = false;  // somebody waits in flush
  bool to_disk_ = false;  // the next batch goes to the disk
  std::exception_ptr failure_;
  std::chrono::steady_clock::time_point last_commit_;
  std::thread thread_;
};

}  // namespace plimsoll
