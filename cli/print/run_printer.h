#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "session/run_session.h"

namespace plimsoll {

/// Says on standard error what a session is at; on a terminal the current step stays on one line, else a line comes
/// every second at most. Nobody listening is no failure.
class RunPrinter {
 public:
  explicit RunPrinter(bool quiet);
  /// Ends the line that a terminal shows.
  ~RunPrinter();
  RunPrinter(const RunPrinter&) = delete;
  RunPrinter& operator=(const RunPrinter&) = delete;

  [[nodiscard]] RunWatcher watcher();

 private:
  void stage(const std::string& text);
  void plan(const Plan& plan, const Prediction& prediction, const std::vector<Candidate>& candidates);
  void step(const StepSummary& step, std::int64_t end_step);
  void evaluation(std::int64_t steps_done, const HeldOut& found);
  void warning(const std::string& text);
  void say(const std::string& text);
  void put(const std::string& text);

  bool quiet_;
  bool terminal_;
  bool line_open_ = false;  ///< the terminal shows a step that the next text must move away from
  std::chrono::steady_clock::time_point last_step_;
};

/// What stands over the two columns of a comparison.
struct ComparedNames {
  const char* first = "predicted";
  const char* second = "measured";
  const char* difference = "error";
  const char* no_memory = "peak memory was not measured: the run did not come to its end";
};

/// "step time by phase, memory by space, loss": the table of predicted against measured, or of two runs.
std::string comparison_text(const Comparison& comparison, const ComparedNames& names = {});

/// First, lowest and last losses, and a curve of one character a step (at most 60 wide).
std::string loss_text(const std::vector<StepSummary>& steps);
/// What became of the experts' auxiliary loss, and how many of their tokens they refused.
std::string expert_text(const std::vector<StepSummary>& steps);

}  // namespace plimsoll
