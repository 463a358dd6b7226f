#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace plimsoll {

/// What a run file is about.
struct RunMeta {
  std::string kind;     ///< "run", "simulate", "plan", ...: the command that made it
  std::string created;  ///< UTC, ISO 8601
  std::string tool_version;
  std::string command;  ///< the command line
  std::string machine;  ///< the computer in words

  bool operator==(const RunMeta&) const = default;
};

/// Bytes of one sort in one memory at one moment.
struct MemorySample {
  Nanoseconds time;
  std::string space;     ///< "gpu0", "host": as the platform calls it
  std::string category;  ///< "parameters", "framework", "process", ...
  Bytes bytes;

  bool operator==(const MemorySample&) const = default;
};

/// One measured duration of what the key stands for; the plan is the one that was running.
struct CostSample {
  std::string key;
  Nanoseconds duration;
  std::string plan_digest;

  bool operator==(const CostSample&) const = default;
};

/// The loss on held-out data after step `step`.
struct Evaluation {
  std::uint32_t step = 0;
  double loss = 0;

  bool operator==(const Evaluation&) const = default;
};

/// A checkpoint that the run wrote after step `step`.
struct CheckpointRecord {
  std::uint32_t step = 0;
  std::string path;
  std::string digest;

  bool operator==(const CheckpointRecord&) const = default;
};

struct LogLine {
  Nanoseconds time;
  std::string level;  ///< "info", "warning", "error"
  std::string text;

  bool operator==(const LogLine&) const = default;
};

struct NamedPlan {
  std::string name;  ///< "warm-up", "migration", "run"
  std::string digest;
  Plan plan;
};

struct NamedTrace {
  std::string name;           ///< "warm-up", "predicted", "predicted migration", "migration", "run"
  std::string body = "step";  ///< the body of the plan that its instruction ids are of
  Trace trace;
};

/// All that a run file holds. Everything is in the order in which it was added.
struct RunFile {
  RunMeta meta;
  bool finished = false;  ///< false: the writer was interrupted, and what follows is what it had committed
  std::vector<NamedPlan> plans;
  std::vector<NamedTrace> traces;
  std::vector<MemorySample> memory;
  std::vector<CostSample> cost_samples;
  std::vector<Evaluation> evaluations;
  std::vector<CheckpointRecord> checkpoints;
  std::vector<LogLine> log;

  /// The plan of that digest; null when the file has none.
  [[nodiscard]] const Plan* plan(std::string_view digest) const;
  /// The first trace of that name; null when the file has none.
  [[nodiscard]] const NamedTrace* trace(std::string_view name) const;
  /// The training's steps in order: the warm-up's, where they are its first, then those of the plan that followed.
  [[nodiscard]] std::vector<StepSummary> steps() const;
  /// What the training ended with: the run, or the warm-up when it got no further; null when there is none.
  [[nodiscard]] const NamedTrace* last_trace() const;
  /// Its plan; null when there is none.
  [[nodiscard]] const Plan* last_plan() const;
};

/// Reads a run file, also one that is being written or whose writer was killed. Refused: files of another kind or of a
/// newer version, damaged ones, and events that name instructions which their plan does not have.
Result<RunFile> read_run_file(const std::string& path);

}  // namespace plimsoll
