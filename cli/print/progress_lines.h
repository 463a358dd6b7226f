#pragma once

#include <string>

#include "core/base/result.h"
#include "session/run_session.h"

namespace plimsoll {

/// Writes what a run is at to a file descriptor, one JSON object a line, for a program that started it (docs/progress-lines.md).
/// A reader that goes away ends nothing.
class ProgressLines {
 public:
  /// −1: nobody reads, and nothing is written.
  explicit ProgressLines(int descriptor) : descriptor_(descriptor) {}

  /// Tells `watcher` and the descriptor.
  RunWatcher beside(RunWatcher watcher);
  void end(const RunOutcome& outcome, const std::string& file);
  void end(const Error& error);

 private:
  void write(const std::string& line);
  void plan(const Plan& plan, const Prediction& prediction);
  void step(const StepSummary& step, std::int64_t end_step);

  int descriptor_;
};

/// Refuses a descriptor that is not open for writing.
Result<void> check_progress(int descriptor);

}  // namespace plimsoll
