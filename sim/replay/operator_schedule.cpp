#include "sim/replay/operator_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <set>

namespace plimsoll {
namespace {

bool moves_data(const TracedOperator& node) { return node.sort != OperatorSort::kCompute && node.sort != OperatorSort::kOther; }

ReplayPart part_of(const TracedOperator& node) {
  if (node.on_host) return ReplayPart::kCall;
  return moves_data(node) ? ReplayPart::kCopy : ReplayPart::kKernel;
}

class Scheduler {
 public:
  Scheduler(const OperatorTrace& trace, const std::vector<ScaleRule>& scales) : trace_(trace) {
    const std::size_t count = trace.nodes.size();
    waits_for_.resize(count);
    readers_.resize(count);
    ready_at_.resize(count);
    longest_.resize(count);
    before_.assign(count, kNone);
    for (std::uint32_t i = 0; i < count; ++i) {
      durations_.push_back(scaled(trace.nodes[i], scales));
      lanes_of_.push_back(lane_of(trace.nodes[i]));
      waits_for_[i] = trace.nodes[i].after.size();
      for (const std::uint32_t before : trace.nodes[i].after) readers_[before].push_back(i);
      result_.untimed += trace.nodes[i].duration.count < 0;
    }
    result_.start.resize(count);
    result_.end.resize(count);
  }

  Result<OperatorSchedule> run() {
    for (std::uint32_t i = 0; i < trace_.nodes.size(); ++i) {
      if (waits_for_[i] == 0) make_ready(i);
    }
    std::size_t done = 0;
    for (; start_all(); ++done) {
      const auto [end, node] = running_.top();
      running_.pop();
      now_ = end;
      finish(node);
    }
    if (done < trace_.nodes.size()) {
      return fail({.kind = ErrorKind::kInput,
                   .what = "nodes of the trace wait for each other in a circle",
                   .where = {},
                   .remedy = "link and convert the trace again"});
    }
    follow_path();
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  using Waiting = std::set<std::pair<Nanoseconds, std::uint32_t>>;
  struct Lane {
    Waiting waiting;
    bool busy = false;
  };
  using Ending = std::pair<Nanoseconds, std::uint32_t>;

  Nanoseconds scaled(const TracedOperator& node, const std::vector<ScaleRule>& scales) const {
    double factor = 1;
    for (const ScaleRule& rule : scales) {
      if (rule.part == part_of(node) && fits(rule, trace_.names.at(node.name))) factor *= rule.factor;
    }
    const auto duration = static_cast<double>(std::max<std::int64_t>(0, node.duration.count));
    return Nanoseconds(std::llround(duration * factor));
  }

  std::size_t lane_of(const TracedOperator& node) {
    const int sort = node.on_host ? 0 : moves_data(node) ? 2 : 1;
    const auto [known, is_new] = lane_ids_.try_emplace({sort, node.lane}, lanes_.size());
    if (is_new) lanes_.emplace_back();
    return known->second;
  }

  void make_ready(std::uint32_t node) {
    lanes_[lanes_of_[node]].waiting.emplace(ready_at_[node], node);
    touched_.insert(lanes_of_[node]);
  }

  /// Starts what may; false when nothing runs then.
  bool start_all() {
    for (const std::size_t id : touched_) {
      Lane& lane = lanes_[id];
      if (lane.busy || lane.waiting.empty()) continue;
      const std::uint32_t node = lane.waiting.begin()->second;
      lane.waiting.erase(lane.waiting.begin());
      lane.busy = true;
      result_.start[node] = now_;
      result_.end[node] = now_ + durations_[node];
      running_.emplace(result_.end[node], node);
    }
    touched_.clear();
    return !running_.empty();
  }

  void finish(std::uint32_t node) {
    const Nanoseconds chain = longest_[node] + durations_[node];
    result_.makespan = std::max(result_.makespan, now_);
    if (chain > result_.critical_path || result_.on_path.empty()) {
      result_.critical_path = chain;
      result_.on_path.assign(1, node);  // where it ends; the chain itself is followed once, at the end
    }
    lanes_[lanes_of_[node]].busy = false;
    touched_.insert(lanes_of_[node]);
    for (const std::uint32_t reader : readers_[node]) {
      if (chain > longest_[reader] || before_[reader] == kNone) {
        longest_[reader] = chain;
        before_[reader] = node;
      }
      ready_at_[reader] = std::max(ready_at_[reader], now_);
      if (--waits_for_[reader] == 0) make_ready(reader);
    }
  }

  void follow_path() {
    std::vector<std::uint32_t>& path = result_.on_path;
    while (!path.empty() && before_[path.back()] != kNone) path.push_back(before_[path.back()]);
    std::reverse(path.begin(), path.end());
  }

  const OperatorTrace& trace_;
  OperatorSchedule result_;
  std::vector<Nanoseconds> durations_;
  std::vector<std::size_t> lanes_of_;
  std::vector<std::size_t> waits_for_;
  std::vector<std::vector<std::uint32_t>> readers_;
  std::vector<Nanoseconds> ready_at_;
  std::vector<Nanoseconds> longest_;  ///< chain before the node
  std::vector<std::uint32_t> before_;
  std::map<std::pair<int, std::int64_t>, std::size_t> lane_ids_;
  std::vector<Lane> lanes_;
  std::set<std::size_t> touched_;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> running_;
  Nanoseconds now_;
};

}  // namespace

Result<OperatorSchedule> schedule_operators(const OperatorTrace& trace, const std::vector<ScaleRule>& scales) {
  if (!trace.timed()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "no node of the trace says how long it took",
                 .where = {},
                 .remedy = "link it with a Kineto trace of the same run (chakra_trace_link), and convert it"});
  }
  Scheduler scheduler(trace, scales);
  return scheduler.run();
}

Recording recording_of(const OperatorTrace& trace, const OperatorSchedule& schedule) {
  Recording recording;
  recording.source = trace.source + ", replayed";
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    const TracedOperator& node = trace.nodes[i];
    if (node.duration.count < 0) continue;
    const NameId name = recording.names.add(trace.names.at(node.name));
    if (node.on_host) {
      recording.ranges.push_back({.start = schedule.start[i],
                                  .end = schedule.end[i],
                                  .name = name,
                                  .thread = recording.thread(0, node.lane),
                                  .kind = RangeKind::kOperator});
    } else {
      const bool moves = moves_data(node) && node.sort != OperatorSort::kCollective;
      recording.work.push_back({.start = schedule.start[i],
                                .end = schedule.end[i],
                                .bytes = node.bytes,
                                .on = {.stream = node.lane + (moves_data(node) ? 1'000 : 0)},
                                .name = name,
                                .kind = moves ? DeviceWorkKind::kCopy : DeviceWorkKind::kKernel});
    }
  }
  recording.losses = trace.losses;
  recording.lose("nodes without a duration", schedule.untimed);
  recording.sort();
  return recording;
}

}  // namespace plimsoll
