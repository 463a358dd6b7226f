#include "session/run_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/digest.h"
#include "core/plan/expand.h"
#include "executor/checkpoint/load_weights.h"
#include "executor/cpu/cpu_executor.h"
#include "executor/data/open_batch_source.h"
#include "formats/machines/machine_json.h"
#include "formats/plans/plan_json.h"
#include "formats/runs/run_file_writer.h"
#include "session/measure_link.h"
#include "session/warm_up.h"
#include "sim/cost/calibrate.h"
#include "sim/cost/samples_from_trace.h"
#include "sim/cost/stretched_cost_model.h"
#include "sim/des/work_table.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/ranks/job_plan.h"
#include "sim/planner/ranks/lower_ranks.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kTracedSteps = 64;
constexpr double kSegmentSeconds = 2;  ///< ranks agree so often on whether to go on
constexpr std::uint32_t kSimulatedSteps = 4;

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

Nanoseconds clock_now() {
  return Nanoseconds(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
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
      : request_(request), job_(job), watcher_(watcher), stop_(stop), costs_(request.costs) {
    if (request.waits > 0) costs_ = std::make_shared<StretchedCostModel>(request.costs, request.waits);
  }

  Result<RanksOutcome> run() {
    assert(request_.job.ranks() == job_.ranks());
    auto batches = open_batch_source(request_.data, request_.job.spec, request_.job.recipe);
    if (!batches) return fail(batches.error());
    if (const auto made = make_plans(); !made) return fail(made.error());
    if (const auto same = agree(); !same) return fail(same.error());
    const auto executor = open();
    if (!executor) return fail(executor.error());
    if (const auto ran = train(**executor, **batches); !ran) return fail(ran.error());
    outcome_.memory = gather_memory(**executor);
    gather_traces();
    if (job_.rank() != 0) return std::move(outcome_);
    if (const auto predicted = predict_and_compare(); !predicted) return fail(predicted.error());
    write_file();
    return std::move(outcome_);
  }

 private:
  void announce(const std::string& stage) const {
    if (job_.rank() == 0 && watcher_.on_stage) watcher_.on_stage(stage);
  }

  Result<void> make_plans() {
    if (const auto sound = check_job(request_.job); !sound) return sound;
    announce("measuring the way between ranks");
    outcome_.between = measure_link(job_);
    auto computer = read_machine(job_.told_by_first(write_machine(request_.job.platform)), "what rank 0 found of its computer");
    if (!computer) return fail(computer.error());
    RankJob own = request_.job;
    own.platform = rank_platform(*computer, job_.ranks(), outcome_.between);
    outcome_.what = describe(own);
    announce(fmt::format("planning {}: {}", own.spec.name, outcome_.what));
    auto plans = lower_ranks(own);
    if (!plans) return fail(plans.error());
    plans_ = std::move(*plans);
    return {};
  }

  /// Every rank has made all plans, and they must be the same: else the ranks were started differently, or are different builds.
  Result<void> agree() {
    std::string plans;
    for (const Plan& plan : plans_) {
      digests_.push_back(plan_digest(plan));
      plans += digests_.back();
    }
    const bool file = std::filesystem::is_regular_file(request_.data);
    const std::string data = file ? fmt::format("{} bytes", std::filesystem::file_size(request_.data)) : "a folder";
    const std::pair<const char*, std::string> sayings[] = {
        {"build", request_.meta.tool_version + " " + own_program()},
        {"plan", digest_of(plans)},
        {"data file", data},
        {"number of steps", fmt::format("{}, {} to warm up, waits {}", request_.steps, request_.warm_up_steps, request_.waits)}};
    for (const auto& [what, mine] : sayings) {
      const std::vector<std::string> all = job_.tell_all(mine);
      for (std::size_t rank = 1; rank < all.size(); ++rank) {
        if (all[rank] == all[0]) continue;
        return fail({.kind = ErrorKind::kInput,
                     .what = fmt::format("rank {} has another {} than rank 0: {}, not {}", rank, what, all[rank], all[0]),
                     .where = {},
                     .remedy = "start the same program with the same options on all ranks"});
      }
    }
    return {};
  }

  /// Fingerprint of the running program's file.
  static std::string own_program() {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return digest_of(bytes);
  }

  [[nodiscard]] const Plan& plan() const { return plans_[job_.rank()]; }

  Result<std::unique_ptr<CpuExecutor>> open() {
    for (const Plan& of : plans_) {
      for (const SpaceNeed& need : space_needs(of)) {
        if (!need.fits())
          return fail(does_not_fit(fmt::format("rank {} of {}", of.rank, outcome_.what), of.platform, space_needs(of)));
      }
    }
    CpuOptions options{.backend = fmt::format("cpu, rank {} of {}", job_.rank(), job_.ranks()), .transport = &job_};
    if (request_.waits > 0) {
      const FlatBody body = expand(plan(), *plan().body("step"));
      const auto works = cost_instructions(plan(), body, *costs_);
      if (!works) return fail(works.error());
      for (std::uint32_t id = 0; id < body.size(); ++id) options.waits.push_back(works->of(id).duration);
    }
    auto executor = CpuExecutor::create(plan(), options);
    if (!executor) return fail(executor.error());
    (*executor)->initialize();
    if (request_.init.empty()) return executor;
    const auto write = [&](TensorKind kind, GroupId group, const FillState& fill) { (*executor)->set_state(kind, group, fill); };
    const auto loaded = load_weights(request_.init, request_.job.spec, request_.job.recipe, write, request_.head);
    if (!loaded) return fail(loaded.error());
    return executor;
  }

  /// In segments after which rank 0 says how many steps come next; 0 ends the training.
  Result<void> train(CpuExecutor& executor, const BatchSource& batches) {
    announce(fmt::format("training on {} ranks", job_.ranks()));
    std::int64_t done = 0;
    double seconds_per_step = 0;
    while (true) {
      const std::int64_t next = agreed_steps(done, seconds_per_step);
      if (next == 0) break;
      const Nanoseconds origin = clock_now();
      const auto start = std::chrono::steady_clock::now();
      auto part = executor.run_steps({.first_step = done,
                                      .steps = next,
                                      .first_traced_step = done < kTracedSteps ? done : done + next,
                                      .on_step = [&](const StepSummary& step) { report(step); }},
                                     batches);
      if (!part) return fail(part.error());
      seconds_per_step =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / static_cast<double>(next);
      move_by(*part, origin);
      trace_.events.insert(trace_.events.end(), part->events.begin(), part->events.end());
      trace_.steps.insert(trace_.steps.end(), part->steps.begin(), part->steps.end());
      trace_.source = part->source;
      done += next;
    }
    outcome_.interrupted = done < request_.steps;
    return {};
  }

  void report(const StepSummary& step) const {
    if (job_.rank() == 0 && watcher_.on_step) watcher_.on_step(step, request_.steps);
  }

  [[nodiscard]] std::int64_t agreed_steps(std::int64_t done, double seconds_per_step) {
    std::int64_t next = 0;
    if (!stop_) {
      const double many = seconds_per_step > 0 ? kSegmentSeconds / seconds_per_step : 1;
      next = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(many, 1e6)), 1,
                                      std::max<std::int64_t>(1, request_.steps - done));
      if (done < kTracedSteps) next = std::min(next, kTracedSteps - done);
      if (done >= request_.steps) next = 0;
    }
    return std::strtoll(job_.told_by_first(std::to_string(next)).c_str(), nullptr, 10);
  }

  std::vector<RankBytes> gather_memory(const CpuExecutor& executor) {
    RankBytes own;
    for (const Arena& arena : plan().arenas) own.planned += arena.bytes;
    for (const SpacePeak& peak : executor.touched()) own.measured += peak.bytes;
    std::vector<RankBytes> all;
    for (const std::string& bytes : job_.tell_all(std::string(reinterpret_cast<const char*>(&own), sizeof(own)))) {
      std::memcpy(&all.emplace_back(), bytes.data(), sizeof(RankBytes));
    }
    return all;
  }

  /// Times count from where the first rank began; on several computers, whose clocks differ, each rank's from its own beginning.
  void gather_traces() {
    std::string mine;
    put(mine, trace_.events);
    put(mine, trace_.steps);
    Nanoseconds begin(INT64_MAX);
    for (const std::string& bytes : job_.tell_all(mine)) {
      std::size_t at = 0;
      Trace trace{.kind = TraceKind::kMeasured, .source = trace_.source};
      trace.events = take<TraceEvent>(bytes, at);
      trace.steps = take<StepSummary>(bytes, at);
      trace.plan_digest = digests_[traces_.size()];
      for (const TraceEvent& event : trace.events) begin = std::min(begin, event.start);
      traces_.push_back(std::move(trace));
    }
    for (Trace& trace : traces_) move_by(trace, Nanoseconds(0) - begin);
    for (Trace& trace : traces_) {
      if (!trace.steps.empty()) trace.steps.front().start = Nanoseconds(0);
    }
    outcome_.steps = traces_[0].steps;
  }

  [[nodiscard]] std::uint32_t warm_up_share() const {
    const auto traced = std::min<std::int64_t>(kTracedSteps, static_cast<std::int64_t>(traces_[0].steps.size()));
    const std::int64_t share = std::min(request_.warm_up_steps, traced / 2);
    return share < 2 ? 0 : static_cast<std::uint32_t>(share);
  }

  Result<void> predict_and_compare() {
    const auto traced =
        static_cast<std::uint32_t>(std::min<std::int64_t>(kTracedSteps, static_cast<std::int64_t>(traces_[0].steps.size())));
    if (traced < 2) return {};
    const std::uint32_t warm = warm_up_share();
    std::shared_ptr<const CostModel> costs = costs_;
    if (warm > 0 && request_.waits == 0) costs = calibrated(warm);
    std::vector<Plan> plans = plans_;
    for (Plan& plan : plans) {  // who sleeps shares no core and no memory
      for (Resource& resource : plan.platform.resources) resource.capacity *= request_.waits > 0 ? 1e6 : 1;
    }
    auto simulated = simulate_ranks(plans, *costs, kSimulatedSteps);
    if (!simulated) return fail(simulated.error());
    outcome_.calibration = costs->source();
    outcome_.predicted = step_of(simulated->ranks, 1, kSimulatedSteps - 1);
    outcome_.predicted_bubble = bubble_of(plans_, simulated->ranks, 1, kSimulatedSteps - 1);
    const std::uint32_t first = std::max(1u, warm);
    outcome_.measured = step_of(traces_, first, traced - 1);
    outcome_.measured_bubble = bubble_of(plans_, traces_, first, traced - 1);
    predicted_ = std::move(simulated->ranks);
    return {};
  }

  /// On the first steps of all ranks.
  [[nodiscard]] std::shared_ptr<const CostModel> calibrated(std::uint32_t warm) const {
    std::vector<Sample> samples;
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      Trace early = traces_[rank];
      std::erase_if(early.events, [&](const TraceEvent& event) { return event.step >= warm; });
      std::erase_if(early.steps, [&](const StepSummary& step) { return step.step >= warm; });
      const FlatBody body = expand(plans_[rank], *plans_[rank].body("step"));
      const auto found = samples_from_trace(plans_[rank], body, early);
      samples.insert(samples.end(), found.begin(), found.end());
    }
    return calibrate(samples, costs_).model;
  }

  /// Rank 0's plan and traces under the names of a run alone, the others' beside them.
  void write_file() {
    if (outcome_.steps.empty()) return;
    if (request_.replace) std::filesystem::remove(request_.output);
    RunFileWriter file(request_.output, request_.meta);
    for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
      const std::string suffix = rank == 0 ? "" : fmt::format(" of rank {}", rank);
      file.add_plan("run" + suffix, plans_[rank]);
      if (!predicted_.empty()) {
        predicted_[rank].plan_digest = digests_[rank];
        file.add_trace({.name = "predicted" + suffix, .trace = predicted_[rank]});
      }
      file.add_trace({.name = "run" + suffix, .trace = traces_[rank]});
    }
    file.add_log({Nanoseconds(0), "info", outcome_.what});
    file.close();
  }

  const RanksRequest& request_;
  Job& job_;
  const RunWatcher& watcher_;
  const std::atomic<bool>& stop_;
  std::shared_ptr<const CostModel> costs_;
  std::vector<Plan> plans_;
  std::vector<std::string> digests_;
  Trace trace_;
  std::vector<Trace> traces_, predicted_;
  RanksOutcome outcome_;
};

}  // namespace

Result<RanksOutcome> run_ranks(const RanksRequest& request, Job& job, const RunWatcher& watcher, const std::atomic<bool>& stop) {
  return RankSession(request, job, watcher, stop).run();
}

}  // namespace plimsoll
