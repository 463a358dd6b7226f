#include "session/run_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <optional>

#include "core/plan/expand.h"
#include "executor/collectives/job_executor.h"
#include "executor/cpu/cpu_executor.h"
#include "executor/cuda/device_executor.h"
#include "executor/cuda/nccl_links.h"
#include "executor/data/open_batch_source.h"
#include "formats/machines/machine_json.h"
#include "formats/plans/plan_json.h"
#include "formats/runs/run_file_lock.h"
#include "session/agree_on_job.h"
#include "session/check_room.h"
#include "session/compare_ranks.h"
#include "session/keep_state.h"
#include "session/measure_link.h"
#include "session/measure_safety.h"
#include "session/training_record.h"
#include "session/warm_up.h"
#include "session/weights_in_and_out.h"
#include "sim/cost/stretched_cost_model.h"
#include "sim/des/work_table.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/ranks/job_plan.h"
#include "sim/planner/ranks/lower_ranks.h"
#include "sim/planner/safety_cost.h"

namespace plimsoll {
namespace {

/// Plain values one after another, to and from bytes that ranks of one build send each other.
template <typename Value>
void put(std::string& bytes, const std::vector<Value>& values) {
  const std::uint64_t count = values.size();
  bytes.append(reinterpret_cast<const char*>(&count), sizeof(count));
  bytes.append(reinterpret_cast<const char*>(values.data()), count * sizeof(Value));
}
template <typename Value>
std::vector<Value> take(const std::string& bytes, std::size_t& at) {
  std::uint64_t count = 0;
  std::memcpy(&count, bytes.data() + at, sizeof(count));
  at += sizeof(count);
  std::vector<Value> values(count);
  std::memcpy(values.data(), bytes.data() + at, count * sizeof(Value));
  at += count * sizeof(Value);
  return values;
}

void move_by(Trace& trace, Nanoseconds shift) {
  for (TraceEvent& event : trace.events) {
    event.start += shift;
    event.end += shift;
  }
  for (StepSummary& step : trace.steps) {
    step.start += shift;
    step.end += shift;
  }
}

/// One rank's part of the session.
class RankSession {
 public:
  RankSession(const RanksRequest& request, Job& job, const RunWatcher& watcher, const std::atomic<bool>& stop)
      : request_(request),
        run_(request.run),
        job_(job),
        watcher_(watcher),
        stop_(stop),
        costs_(request.run.costs),
        record_(request.run) {
    if (request.waits > 0) costs_ = std::make_shared<StretchedCostModel>(run_.costs, request.waits);
  }

  Result<RanksOutcome> run() {
    if (const auto same = agree_on_job(request_, job_); !same) return fail(same.error());
    assert(request_.job.ranks() == job_.ranks());
    if (const auto opened = open_data(); !opened) return fail(opened.error());
    if (const auto made = make_plans(); !made) return fail(made.error());
    if (const auto same = agree_on_plans(digests_, job_); !same) return fail(same.error());
    const auto own = open();
    if (!own) return fail(own.error());
    JobExecutor team(plans_, **own, job_);
    const auto trained = job_.rank() == 0 ? lead(team) : team.serve(*batches_, evaluation_.get());
    if (!trained) return fail(trained.error());
    if (job_.rank() > 0) finish(team);
    return std::move(outcome_);
  }

 private:
  void announce(const std::string& stage) const {
    if (job_.rank() == 0 && watcher_.on_stage) watcher_.on_stage(stage);
  }

  Result<void> open_data() {
    auto batches = open_batch_source(run_.data, request_.job.spec, request_.job.recipe);
    if (!batches) return fail(batches.error());
    batches_ = std::move(*batches);
    if (const auto marked = mark(); !marked) return marked;
    if (batches_->masked_tokens() != nullptr && request_.job.schedule.goes_round())
      return fail({.kind = ErrorKind::kInput,
                   .what = "stages of different numbers of ranks cannot train on data in which some tokens do not count yet",
                   .where = "--data",
                   .remedy = "give all stages as many ranks, with --dp"});
    if (run_.evaluation_data.empty()) return {};
    auto evaluation = open_batch_source(run_.evaluation_data, request_.job.spec, request_.job.recipe);
    if (!evaluation) return fail(evaluation.error());
    evaluation_ = std::move(*evaluation);
    return {};
  }

  /// Rank 0 keeps the training's state, and what it was trained on.
  Result<void> mark() {
    if (job_.rank() > 0 || request_.waits > 0) return {};
    auto mark = mark_of_data(run_);
    if (!mark) return fail(mark.error());
    mark_ = std::move(*mark);
    return {};
  }

  Result<void> make_plans() {
    if (const auto sound = check_job(request_.job); !sound) return sound;
    announce("measuring the way between ranks");
    outcome_.between = measure_link(job_);
    auto computer = read_machine(job_.told_by_first(write_machine(request_.job.platform)), "what rank 0 found of its computer");
    if (!computer) return fail(computer.error());
    RankJob own = request_.job;
    own.platform = rank_platform(*computer, job_.ranks(), outcome_.between);
    for (Resource& resource : own.platform.resources) {  // a rank that is tied to one core sees no other
      if (resource.name == "cores" && request_.cores > 0) resource.capacity = request_.cores;
    }
    outcome_.what = describe(own);
    announce(fmt::format("planning {}: {}", own.spec.name, outcome_.what));
    auto plans = lower_ranks(own);
    if (!plans) return fail(plans.error());
    plans_ = std::move(*plans);
    for (const Plan& plan : plans_) digests_.push_back(plan_digest(plan));
    return {};
  }

  [[nodiscard]] std::string backend_of(std::size_t rank) const {
    return fmt::format("{}, rank {} of {}", run_.backend == Backend::kCuda ? "cuda" : "cpu", rank, job_.ranks());
  }
  [[nodiscard]] const Plan& plan() const { return plans_[job_.rank()]; }

  Result<std::unique_ptr<Executor>> open() {
    for (const Plan& of : plans_) {
      for (const SpaceNeed& need : space_needs(of)) {
        if (!need.fits())
          return fail(does_not_fit(fmt::format("rank {} of {}", of.rank, outcome_.what), of.platform, space_needs(of)));
      }
    }
    return run_.backend == Backend::kCuda ? open_on_device() : open_on_cpu();
  }

  /// All ranks: their devices are connected before any of them starts.
  Result<std::unique_ptr<Executor>> open_on_device() {
    announce("connecting the ranks' GPUs");
    auto device = open_cuda_device(request_.device);
    if (!device) return fail(device.error());
    device_ = std::move(*device);
    const auto ways = plan_links(plans_);
    if (!ways) return fail(ways.error());
    const auto tell_all = [&](const std::string& mine) { return job_.tell_all(mine); };
    auto links = open_nccl_links(*device_, *ways, job_.rank(), job_.ranks(), tell_all);
    if (!links) return fail(links.error());
    links_ = std::move(*links);
    return as_executor(DeviceExecutor::create(plan(), device_, {.graphs = run_.device_graphs,
                                                                .backend = backend_of(job_.rank()),
                                                                .transport = &job_,
                                                                .links = links_.get(),
                                                                .link_of_queue = ways->link_of_queue[job_.rank()]}));
  }

  template <typename Backend>
  static Result<std::unique_ptr<Executor>> as_executor(Result<std::unique_ptr<Backend>> made) {
    if (!made) return fail(made.error());
    return std::unique_ptr<Executor>(std::move(*made));
  }

  Result<std::unique_ptr<Executor>> open_on_cpu() {
    CpuOptions options{.backend = backend_of(job_.rank()), .transport = &job_};
    if (request_.waits > 0) {
      const FlatBody body = expand(plan(), *plan().body("step"));
      const auto works = cost_instructions(plan(), body, *costs_);
      if (!works) return fail(works.error());
      for (std::uint32_t id = 0; id < body.size(); ++id) options.waits.push_back(works->of(id).duration);
    }
    return as_executor(CpuExecutor::create(plan(), options));
  }

  /// Rank 0's part: the training, as one rank has it.
  Result<void> lead(JobExecutor& team) {
    auto lock = RunFileLock::acquire(run_.output);
    if (!lock) return fail(lock.error());
    if (const auto fits = check_room(); !fits) return fits;
    const auto first = fill_state(team, run_);
    if (!first) return fail(first.error());
    first_ = *first;
    if (stop_) return fail({.kind = ErrorKind::kInterrupted, .what = "interrupted before the first step; nothing was written"});
    return record_.keep([&] { return train_and_compare(team); });
  }

  [[nodiscard]] Result<void> check_room() const {
    if (request_.waits > 0) return {};
    RunRequest asked = run_;
    asked.warm_up_steps = 0;  // ranks have one plan each
    return plimsoll::check_room(asked, plans_, {.first_step = first_step_of(run_), .data = mark_});
  }

  Result<void> train_and_compare(JobExecutor& team) {
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) record_->add_plan(name_of("run", rank), plans_[rank]);
    record_.log(Nanoseconds(0), "info", outcome_.what);
    if (const auto trained = train_all(team); !trained) return trained;
    if (!run_.save.empty()) announce("saving what was trained to " + run_.save);
    if (const auto saved = save_trained(team, run_); !saved) return saved;
    team.end();
    finish(team);
    return predict_and_compare();
  }

  [[nodiscard]] TrainSchedule schedule() const {
    TrainSchedule schedule = run_.schedule;
    schedule.first_step = first_;
    if (run_.backend == Backend::kCuda)
      schedule.traced_steps = traced_on_device(schedule.traced_steps, schedule.end_step - first_);
    if (request_.waits > 0) {  // what slept has no loss, and no state to keep
      schedule.on_nan = OnNan::kIgnore;
      return schedule;
    }
    schedule.states = state_files_of(run_.output);
    schedule.data = mark_;
    return schedule;
  }

  Result<void> train_all(JobExecutor& team) {
    const TrainSchedule schedule = this->schedule();
    stored_ = record_->add_trace({.name = "run", .trace = {.plan_digest = digests_[0], .source = team.source()}});
    record_->flush_to_disk();  // what the run is stands in its file before the first step: a killed one can be resumed
    if (schedule.durability == Durability::kStep) {
      announce("writing the state to both files of --durability step");
      const auto begun = StateKeeper(plans_[0], team, schedule, {}).begin_steps(first_);
      if (!begun) return begun;
      record_.promise(first_);
    }
    if (const auto known = foresee_safety(team); !known) return known;
    announce(fmt::format("training on {} ranks: steps {} to {}", job_.ranks(), first_ + 1, schedule.end_step));
    const auto trace = plimsoll::train(plans_[0], team, *batches_, evaluation_.get(), schedule, train_watcher(team), stop_);
    if (!trace) return fail(trace.error());
    if (trace->steps.empty()) return fail({.kind = ErrorKind::kInterrupted, .what = "interrupted before the first step"});
    record_->add_peaks(stored_, trace->peaks);
    outcome_.steps = trace->steps;
    outcome_.interrupted = first_ + static_cast<std::int64_t>(trace->steps.size()) < schedule.end_step;
    outcome_.checkpoint = schedule.states.checkpoint;
    if (outcome_.interrupted)
      record_.log(Nanoseconds(0), "warning",
                  fmt::format("interrupted after {} of {} steps", first_ + trace->steps.size(), schedule.end_step));
    return {};
  }

  Result<void> foresee_safety(const JobExecutor& team) {
    if (request_.waits > 0) return {};
    auto safety = predict_safety(run_, plans_, Nanoseconds(0), team);
    if (!safety) return fail(safety.error());
    outcome_.safety = std::move(*safety);
    return {};
  }

  TrainWatcher train_watcher(JobExecutor& team) {
    TrainWatcher watcher;
    watcher.on_step = [&](const StepSummary& step) {
      StepSummary of_job = step;  // all ranks' times count from the job's first step
      const StepSummary& clocked = team.recorded().steps.back();
      if (!begin_) begin_ = clocked.start;
      of_job.start = clocked.start - *begin_;
      of_job.end = clocked.end - *begin_;
      record_.add_step(stored_, of_job);
      if (watcher_.on_step) watcher_.on_step(step, run_.schedule.end_step);
    };
    watcher.on_evaluation = [&](std::int64_t done, const HeldOut& found) {
      record_->add_evaluation({static_cast<std::uint32_t>(done), found.loss});
      outcome_.evaluations.emplace_back(done, found);
      if (watcher_.on_evaluation) watcher_.on_evaluation(done, found);
    };
    watcher.on_saved = [&](const SavedState& state) {
      record_.promise(state.steps_done);
      if (state.of_step == (run_.schedule.durability == Durability::kStep)) safety_spent_.add(state);
      if (state.of_step) return;
      record_.add_checkpoint(state);
    };
    return watcher;
  }

  /// All ranks, after the last step: what each of them measured comes together.
  void finish(const JobExecutor& team) {
    outcome_.interrupted = job_.told_by_first(outcome_.interrupted ? "interrupted" : "") == "interrupted";
    outcome_.memory = gather_memory(team);
    gather_traces(team.recorded());
  }

  std::vector<RankBytes> gather_memory(const JobExecutor& team) {
    RankBytes own;
    for (const Arena& arena : plan().arenas) own.planned += arena.bytes;
    for (const SpacePeak& peak : team.touched()) own.measured += peak.bytes;
    std::vector<RankBytes> all;
    for (const std::string& bytes : job_.tell_all(std::string(reinterpret_cast<const char*>(&own), sizeof(own)))) {
      std::memcpy(&all.emplace_back(), bytes.data(), sizeof(RankBytes));
    }
    return all;
  }

  /// Times count from where rank 0 began, as in the steps that it wrote down on the way.
  void gather_traces(const Trace& recorded) {
    std::string mine;
    put(mine, recorded.events);
    put(mine, recorded.steps);
    for (const std::string& bytes : job_.tell_all(mine)) {
      std::size_t at = 0;
      Trace trace{.kind = TraceKind::kMeasured, .source = backend_of(traces_.size())};
      trace.events = take<TraceEvent>(bytes, at);
      trace.steps = take<StepSummary>(bytes, at);
      trace.plan_digest = digests_[traces_.size()];
      move_by(trace, Nanoseconds(0) - begin_.value_or(Nanoseconds(0)));
      traces_.push_back(std::move(trace));
    }
  }

  Result<void> predict_and_compare() {
    auto compared = compare_ranks(
        {.plans = plans_,
         .traces = traces_,
         .traced = static_cast<std::uint32_t>(std::min<std::size_t>(schedule().traced_steps, traces_[0].steps.size())),
         .warm_up = static_cast<std::uint32_t>(run_.warm_up_steps),
         .costs = costs_,
         .waits = request_.waits > 0});
    if (!compared) return fail(compared.error());
    outcome_.calibration = compared->calibration;
    outcome_.predicted = compared->step_predicted;
    outcome_.measured = compared->step_measured;
    outcome_.predicted_bubble = compared->bubble_predicted;
    outcome_.measured_bubble = compared->bubble_measured;
    if (outcome_.safety) {
      safety_spent_.put_into(*outcome_.safety);
      outcome_.safety->step_share = step_share(*outcome_.safety, to_seconds(outcome_.predicted));
    }
    write_traces(std::move(compared->predicted));
    return {};
  }

  static std::string name_of(const char* what, std::size_t rank) {
    return rank == 0 ? std::string(what) : fmt::format("{} of rank {}", what, rank);
  }

  /// Rank 0's traces under the names of a run alone, the others' beside them.
  void write_traces(std::vector<Trace> predicted) {
    record_->add_events(stored_, traces_[0].events);
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      if (rank < predicted.size()) {
        predicted[rank].plan_digest = digests_[rank];
        record_->add_trace({.name = name_of("predicted", rank), .trace = std::move(predicted[rank])});
      }
      if (rank > 0) record_->add_trace({.name = name_of("run", rank), .trace = std::move(traces_[rank])});
    }
  }

  const RanksRequest& request_;
  const RunRequest& run_;
  Job& job_;
  const RunWatcher& watcher_;
  const std::atomic<bool>& stop_;
  std::shared_ptr<const CostModel> costs_;
  std::unique_ptr<BatchSource> batches_, evaluation_;
  DataMark mark_;
  std::shared_ptr<Device> device_;     ///< outlives what follows, and that the executor
  std::unique_ptr<DeviceLinks> links_;
  std::vector<Plan> plans_;
  std::vector<std::string> digests_;
  TrainingRecord record_;
  StoredTraceId stored_;
  std::int64_t first_ = 0;               ///< steps that the state had at the beginning
  std::optional<Nanoseconds> begin_;     ///< of rank 0's first step, by its clock
  std::vector<Trace> traces_;
  SafetySpent safety_spent_;
  RanksOutcome outcome_;
};

}  // namespace

Result<RanksOutcome> run_ranks(const RanksRequest& request, Job& job, const RunWatcher& watcher, const std::atomic<bool>& stop) {
  return RankSession(request, job, watcher, stop).run();
}

}  // namespace plimsoll
