#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "executor/collectives/transport.h"

namespace plimsoll {

/// When a rank is given up.
struct JobLimits {
  std::chrono::milliseconds silence{10'000};     ///< nothing was heard of it
  std::chrono::milliseconds standstill{20'000};  ///< no rank ended any instruction, and it is not one that waits for another
};

/// The ranks that were started together, one process each. A thread tells the others every quarter of a second that this rank
/// lives, what it is at, and whom it waits for, and looks after them.
class Job : public Transport {
 public:
  /// What every rank says, by rank; all must call. `on_lost` does not stop it.
  virtual std::vector<std::string> tell_all(const std::string& mine) = 0;
  /// What rank 0 says.
  std::string told_by_first(const std::string& mine) { return tell_all(rank() == 0 ? mine : std::string()).front(); }

  /// From now on a rank that ends without `leave`, falls silent or stands still is reported once, from the watching thread;
  /// exchanges throw from then on. The error names it with its step.
  virtual void watch(const JobLimits& limits, std::function<void(const Error&)> on_lost) = 0;
  /// All ranks: the job is done, and nobody is watched any more.
  virtual void leave() = 0;
  /// Ends all ranks at once with that exit code. Does not return.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

/// Whether this build can run on several ranks.
bool has_job_support();
/// Joins the job that this process was started in; one alone is a job of one rank. Fails where the build has no MPI, saying how
/// to get it.
Result<std::unique_ptr<Job>> join_job();

}  // namespace plimsoll
