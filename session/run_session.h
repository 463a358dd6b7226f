#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/trace/compare_traces.h"
#include "executor/checkpoint/load_weights.h"
#include "executor/checkpoint/save_weights.h"
#include "executor/open_executor.h"
#include "formats/runs/run_file.h"
#include "formats/runs/safety_answer.h"
#include "session/change_plan.h"
#include "session/train.h"
#include "sim/planner/search_plan.h"

namespace plimsoll {

/// Everything that a run needs to know before it starts.
struct RunRequest {
  ModelSpec spec;
  Recipe recipe;
  Platform machine;  ///< this computer under the user's caps
  std::string strategy = "auto";
  std::optional<Strategy> exact_strategy;  ///< this very one, whatever `strategy` says
  std::optional<Plan> plan;                ///< a plan from a file; nothing: the session plans
  std::shared_ptr<const CostModel> costs;  ///< what to expect before anything was measured
  std::int64_t warm_up_steps = 8;          ///< the first steps, profiled, of a cautious plan (warm_up_share); 0 trusts `costs`
  TrainSchedule schedule;                  ///< the session fills in `first_step`, `states`, `base` and `data`
  std::string data;
  bool other_data = false;      ///< a resumed training may have had other data than `data` until now
  std::string evaluation_data;  ///< may be empty
  std::string init;             ///< weights to start from; may be empty
  std::string init_adapter;     ///< PEFT folder of adapters to start from; may be empty
  HeadWeights head = HeadWeights::kStored;  ///< whether the weights to start from have the model's head
  bool trial = false;           ///< keeps no state, also in the end: how fast it runs is all that is asked
  std::string save;             ///< where the weights, or the adapters, go in the end; may be empty
  SaveOptions save_options;
  std::string resume;    ///< a training checkpoint; may be empty
  std::string output;    ///< the run file
  Backend backend = Backend::kCpu;              ///< what runs it
  bool device_graphs = true;                    ///< of the CUDA backend: stretches of kernels are put on the device as one
  DriveOptions drive;                           ///< where SSD data goes while it runs
  bool replace = false;  ///< an older run file of that name goes once the training can start
  RunMeta meta;
  std::vector<std::pair<std::string, std::string>> typed;  ///< options that a resumed run takes again; may be empty
  std::string kernel_root;                                 ///< stands before /proc and /sys where memory is watched, for tests
};

/// Told what the session is at; see TrainWatcher for the rest.
struct RunWatcher {
  std::function<void(const std::string& stage)> on_stage;
  std::function<void(const Plan& plan, const Prediction& prediction, const std::vector<Candidate>& candidates)> on_plan;
  std::function<void(const StepSummary& step, std::int64_t end_step)> on_step;
  std::function<void(std::int64_t steps_done, const HeldOut& found)> on_evaluation;
  std::function<void(const std::string& text)> on_warning;  ///< what the run file's log says too
};

/// What became of a run.
struct RunOutcome {
  Plan plan;              ///< the chosen one; the warm-up's when the run was interrupted before the choice
  Prediction prediction;  ///< of that plan; its step is 0 when none was made
  Trace measured;                        ///< of that plan
  std::vector<StepSummary> steps;        ///< of the whole run, those of the warm-up first
  std::vector<std::pair<std::int64_t, HeldOut>> evaluations;  ///< after so many steps
  std::optional<ChangedPlan> changed;    ///< how the warm-up's plan gave way to that plan
  std::optional<Comparison> comparison;  ///< nothing when no whole step was traced
  std::string not_compared;              ///< why there is none
  std::optional<SafetyAnswer> safety;  ///< nothing with Durability::kNone
  bool interrupted = false;
  std::string checkpoint;  ///< where to resume from; empty after a trial
};

/// Warms up, calibrates, plans, carries the state over to that plan, runs on and compares. The warm-up's steps are the
/// training's first; where no other plan fits its plan stays. The run file is made when the training can start, so that a
/// run which cannot start leaves nothing; from then on everything goes into it as it happens. When `stop` turns true the
/// step in progress is finished and what was done is kept. A disk that fails throws EnvironmentError.
Result<RunOutcome> run_session(const RunRequest& request, const RunWatcher& watcher, const std::atomic<bool>& stop);

/// How its SSD data is kept: of a run whose state outlives it, what comes back from the drive is compared with what was written, so
/// that no bit that the drive changed is kept.
DriveOptions drive_of(const RunRequest& request);

/// Where a run puts its checkpoint: beside its run file.
std::string checkpoint_of(const std::string& run_file);

/// The strategy of the warm-up: as much as possible outside the device, nothing overlapped, so that samples are clean.
Strategy warm_up_strategy();

}  // namespace plimsoll
