#include "sim/replay/replay.h"

#include <algorithm>

#include "sim/des/engine.h"
#include "sim/replay/replay_path.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMostNodes = std::size_t{1} << 30;
constexpr Nanoseconds kSkew{100'000};

Plan lanes_as_queues(const ReplayGraph& graph) {
  Plan plan;
  for (std::uint32_t lane = 0; lane < graph.lanes; ++lane)
    plan.platform.queues.push_back({.name = "", .kind = QueueKind::kHostWork, .width = graph.side_by_side[lane] ? INT32_MAX : 1});
  return plan;
}

FlatBody nodes_as_instructions(const ReplayGraph& graph) {
  FlatBody body;
  for (const ReplayNode& node : graph.nodes) {
    Instruction instruction;
    instruction.queue = QueueId(node.lane);
    instruction.first_dependency = static_cast<std::uint32_t>(body.list.dependencies.size());
    instruction.dependency_count = static_cast<std::uint32_t>(node.after.size());
    for (const std::uint32_t before : node.after)
      body.list.dependencies.push_back({.target = before, .distance = 0, .local = true});
    body.list.instructions.push_back(instruction);
  }
  return body;
}

WorkTable durations_of(const ReplayGraph& graph) {
  WorkTable table;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    table.works.push_back({.overhead = graph.nodes[i].gap, .latency = {}, .duration = graph.nodes[i].duration, .demands = {}});
    table.work_of.push_back(i);
  }
  return table;
}

Result<Replayed> run_graph(const Recording& recording, const ReplayOptions& options, Nanoseconds skew) {
  Replayed replayed{.graph = build_replay_graph(recording, options, skew)};
  const Plan plan = lanes_as_queues(replayed.graph);
  const FlatBody body = nodes_as_instructions(replayed.graph);
  const WorkTable works = durations_of(replayed.graph);
  Trace trace;
  if (auto ran = Engine(plan, body, works, {.steps = 1}).run(trace); !ran) return fail(ran.error());
  for (const TraceEvent& event : trace.events) {
    replayed.start.push_back(event.start);
    replayed.end.push_back(event.end);
  }
  return replayed;
}

Nanoseconds quantile(std::vector<Nanoseconds>& sorted, double share) {
  if (sorted.empty()) return {};
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

void measure_errors(Replayed& replayed) {
  std::vector<Nanoseconds> errors;
  for (std::size_t i = 0; i < replayed.graph.nodes.size(); ++i) {
    const ReplayNode& node = replayed.graph.nodes[i];
    replayed.traced = std::max(replayed.traced, node.recorded_end - replayed.graph.begin);
    replayed.predicted = std::max(replayed.predicted, replayed.end[i]);
    if (node.kind != ReplayNodeKind::kWork) continue;
    const Nanoseconds recorded = node.recorded_start - replayed.graph.begin;
    errors.push_back(std::max(recorded, replayed.start[i]) - std::min(recorded, replayed.start[i]));
  }
  std::sort(errors.begin(), errors.end());
  replayed.events = errors.size();
  replayed.start_error_p50 = quantile(errors, 0.5);
  replayed.start_error_p90 = quantile(errors, 0.9);
  if (!errors.empty()) replayed.start_error_worst = errors.back();
}

}  // namespace

double Replayed::error() const {
  return traced.count == 0 ? 0 : static_cast<double>((predicted - traced).count) / static_cast<double>(traced.count);
}

Result<Replayed> replay(const Recording& recording, const ReplayOptions& options) {
  const auto refuse = [](std::string what) {
    return fail(
        {.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = "name a trace of a program that used a GPU"});
  };
  if (recording.work.empty() && !recording.ranges.empty()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "the trace holds no device work, only what the host did",
                 .where = {},
                 .remedy = "plimsoll import lists its operators, and plimsoll compare holds a prediction against them"});
  }
  if (recording.work.empty()) return refuse("the trace holds no device work");
  if (recording.work.size() + recording.calls.size() > kMostNodes / 3) return refuse("the trace is too long to be replayed");
  // Traces whose clocks are off by a little show work before its launch. Where that ties a knot, such launches count as unknown.
  auto replayed = run_graph(recording, options, kSkew);
  if (!replayed) replayed = run_graph(recording, options, {});
  if (!replayed) return refuse("the trace's calls and device work wait for each other in a circle");
  measure_errors(*replayed);
  replayed->path = find_replay_path(*replayed);
  return replayed;
}

}  // namespace plimsoll
