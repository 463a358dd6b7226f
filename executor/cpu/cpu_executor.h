#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "executor/data/batch_source.h"
#include "executor/tiers/drive.h"

namespace plimsoll {

/// How to run, never what: nothing here changes a number.
struct CpuOptions {
  std::int64_t threads = 0;       ///< compute workers; 0 takes the platform's cores
  bool canary = true;             ///< fill arenas with a pattern so that touched bytes can be counted
  std::uint64_t jitter_seed = 0;  ///< not 0: random delays before every instruction (for the stress test)
  std::string backend;            ///< written into the trace's source
  DriveOptions drive;             ///< where SSD arenas go
};

/// Steps to run without stopping in between.
struct RunSegment {
  std::int64_t first_step = 0;
  std::int64_t steps = 0;
  std::int64_t first_traced_step = 0;  ///< events are recorded for steps [first_traced_step, first_step + steps)
  std::function<void(const StepSummary&)> on_step;  ///< called from the executor's thread after each step, in order
  const std::atomic<bool>* stop = nullptr;          ///< when it turns true, the run ends after the step in progress
};

/// What an evaluation came to.
struct HeldOut {
  double loss = 0;             ///< mean over its batches
  std::optional<double> right;  ///< the share of right answers, where there are labels

  bool operator==(const HeldOut&) const = default;
};

/// Runs a plan for real on the CPU: one arena a memory space (an SSD's is a file), one thread a queue lane, one pool of
/// compute workers.
/// Instructions start as soon as the law of plans lets them; the executor adds no order and needs none.
class CpuExecutor {
 public:
  /// Verifies the plan, checks that it can run here (kernels, precision, no collective) and that the arenas fit
  /// free memory and drives, reserves and prefaults them, and rehearses every kernel once. Errors say what is missing.
  static Result<std::unique_ptr<CpuExecutor>> create(const Plan& plan, const CpuOptions& options);
  ~CpuExecutor();
  CpuExecutor(const CpuExecutor&) = delete;
  CpuExecutor& operator=(const CpuExecutor&) = delete;

  /// Fills weights from the recipe's seed (GPT-2's rule: normal(0, 0.02), residual projections scaled by 1/√(2·layers),
  /// norms 1, biases 0) and clears moments.
  void initialize();

  /// One state of one group as the plan stores it, for checkpoints. `set_state` lets `fill` write it once and copies that
  /// to wherever else it is kept. Elements are in the state's dtype. kParameter reads the master copy where there is one.
  /// The bytes are valid until the next call of either, or of `run_steps`. Both, and `initialize`, throw EnvironmentError
  /// when a drive fails.
  [[nodiscard]] std::span<const std::byte> state(TensorKind kind, GroupId group) const;
  void set_state(TensorKind kind, GroupId group, const std::function<void(std::span<std::byte> place)>& fill);

  /// Runs the "step" body and returns what happened; losses are in the step summaries. What a kernel, the corpus or
  /// `on_step` throws ends the run and is thrown on, after all threads have stopped. `plan_digest` is left to the
  /// caller. Where a plan keeps versions of its states, a segment that does not go on where the last one ended is
  /// refused, unless `initialize` was called since.
  Result<Trace> run_steps(const RunSegment& segment, const BatchSource& batches);

  /// Loss, and right answers, over `count` evaluation batches.
  Result<HeldOut> evaluate(const BatchSource& batches, std::int64_t count);

  /// Carries the state from this plan's layout to `next`'s by the body "migrate" of `migration`, and goes on as the
  /// executor of `next`: the arenas, grown to hold either plan, keep their contents and end as long as `next`'s. Answers
  /// with what was measured of it. An error (a plan that cannot run here, a migration that does not join the two, too
  /// little memory or room on a drive) leaves everything as it was; a drive that fails on the way throws
  /// EnvironmentError, and the state is lost.
  Result<Trace> migrate(const Plan& migration, const Plan& next);

  /// The backend's name, with how the plan's SSD data is moved.
  [[nodiscard]] const std::string& source() const;

  /// What the user should know and was not told before: a drive that became slow. Any thread may ask while steps run.
  [[nodiscard]] std::vector<std::string> take_warnings();

  /// High-water mark of each arena: the highest byte that lost its canary (its whole size without canaries), of an SSD
  /// the highest that was written.
  [[nodiscard]] std::vector<SpacePeak> touched() const;

  /// Check mode: error naming the first touched byte that lies in no buffer.
  [[nodiscard]] Result<void> check_touched() const;

 private:
  struct Impl;
  explicit CpuExecutor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
