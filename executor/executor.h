#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "executor/data/batch_source.h"
#include "executor/run_warning.h"

namespace plimsoll {

/// How a segment goes on beyond its steps without a pause.
struct SegmentGrowth {
  std::int64_t notice = 0;  ///< `more` is asked when so many steps or fewer are left
  std::function<std::int64_t()> more;  ///< further steps, 0 for the end; asked from the thread that `on_step` is called from
};

/// Steps to run without stopping in between.
struct RunSegment {
  std::int64_t first_step = 0;
  std::int64_t steps = 0;
  bool fills = true;  ///< where the plan's steps overlap: begins with an empty pipeline; else goes on where the last one ended
  std::int64_t first_traced_step = 0;  ///< events are recorded for steps [first_traced_step, first_step + steps)
  std::function<void(const StepSummary&)> on_step;  ///< called from the executor's thread after each step, in order
  const std::atomic<bool>* stop = nullptr;          ///< when it turns true, the run ends after the step in progress
  SegmentGrowth growth;
};

/// What an evaluation came to.
struct HeldOut {
  double loss = 0;             ///< mean over its batches
  std::optional<double> right;  ///< the share of right answers, where there are labels

  bool operator==(const HeldOut&) const = default;
};

/// Runs a plan for real: what a session sees of a backend. Instructions start as soon as the law of plans lets them; a backend
/// adds no order and needs none. One thread calls.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Fills weights from the recipe's seed (fill_state.h) and clears moments.
  virtual void initialize() = 0;

  /// One state of one group as the plan stores it, for checkpoints. `set_state` lets `fill` write it once and copies that
  /// to wherever else it is kept. Of a group that a plan keeps a part of, `state` shows that part, and `fill` writes the whole
  /// group, of which the part is taken. Elements are in the state's dtype. kParameter reads the master copy where there is one.
  /// The bytes are valid until the next call of either, or of `run_steps`. Both, and `initialize`, throw EnvironmentError
  /// when a drive or a device fails.
  [[nodiscard]] virtual std::span<const std::byte> state(TensorKind kind, GroupId group) const = 0;
  virtual void set_state(TensorKind kind, GroupId group, const std::function<void(std::span<std::byte> place)>& fill) = 0;

  /// Runs the "step" body and returns what happened; losses are in the step summaries. What a kernel, the corpus or
  /// `on_step` throws ends the run and is thrown on, after all threads have stopped. `plan_digest` is left to the
  /// caller. Where a plan keeps versions of its states, a segment that does not go on where the last one ended is
  /// refused, unless `initialize` was called since.
  virtual Result<Trace> run_steps(const RunSegment& segment, const BatchSource& batches) = 0;

  /// Loss, and right answers, over `count` evaluation batches.
  virtual Result<HeldOut> evaluate(const BatchSource& batches, std::int64_t count) = 0;

  /// Carries the state from this plan's layout to `next`'s, and goes on as the executor of `next`. `migration` is a verified way
  /// from the one to the other. Answers with what was measured of it. An error leaves everything as it was; a drive or a device
  /// that fails on the way throws EnvironmentError, and the state is lost.
  virtual Result<Trace> migrate(const Plan& migration, const Plan& next) = 0;

  /// The backend's name, with how the plan's SSD data is moved.
  [[nodiscard]] virtual const std::string& source() const = 0;

  /// What the user should know and was not told before: a drive that became slow. Any thread may ask while steps run.
  [[nodiscard]] virtual std::vector<RunWarning> take_warnings() = 0;

  /// High-water mark of each arena: the highest byte that was touched where that is known, else its whole size.
  [[nodiscard]] virtual std::vector<SpacePeak> touched() const = 0;
};

}  // namespace plimsoll
