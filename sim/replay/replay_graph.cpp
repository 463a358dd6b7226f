#include "sim/replay/replay_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

namespace plimsoll {
namespace {

/// A host thread that paused for longer may have waited for another one.
constexpr Nanoseconds kLongPause{100'000};
/// Work that nobody launched in the recording and that follows the one before it later than this was launched just then.
constexpr Nanoseconds kLateForAQueue{20'000};

class GraphBuilder {
 public:
  GraphBuilder(const Recording& recording, const ReplayOptions& options, Nanoseconds skew)
      : recording_(recording),
        options_(options),
        index_(recording, skew),
        submit_node_(recording.calls.size(), kNoIndex),
        return_node_(recording.calls.size(), kNoIndex),
        work_node_(recording.work.size(), kNoIndex) {
    graph_.constants = measure_launches(recording, index_);
    graph_.begin = span_of(recording).first;
  }

  ReplayGraph build() {
    for (std::uint32_t thread = 0; thread < index_.threads().size(); ++thread) add_thread(thread);
    for (std::size_t stream = 0; stream < index_.streams().size(); ++stream) add_stream(index_.streams()[stream]);
    add_flights();
    add_stream_edges();
    for (std::uint32_t call = 0; call < recording_.calls.size(); ++call) add_waits(call);
    add_handovers();
    return std::move(graph_);
  }

 private:
  std::uint32_t add(ReplayNode node) {
    graph_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(graph_.nodes.size() - 1);
  }
  std::uint32_t new_lane(bool side_by_side) {
    graph_.side_by_side.push_back(side_by_side);
    return graph_.lanes++;
  }

  [[nodiscard]] Nanoseconds scaled(Nanoseconds time, ReplayPart part, std::string_view name) const {
    double factor = 1;
    for (const ScaleRule& rule : options_.scales) {
      if (rule.part == part && fits(rule, name)) factor *= rule.factor;
    }
    return factor == 1 ? time : Nanoseconds(std::llround(static_cast<double>(time.count) * factor));
  }

  [[nodiscard]] Nanoseconds elsewhere(Nanoseconds time, std::size_t work) const {
    if (work >= options_.work_factors.size()) return time;
    return Nanoseconds(std::llround(static_cast<double>(time.count) * options_.work_factors[work]));
  }

  void add_thread(std::uint32_t thread);
  void add_call(std::uint32_t call, std::uint32_t lane, Nanoseconds gap);
  void add_stream(const RecordingIndex::Stream& stream);
  void add_flights();
  void add_stream_edges();
  struct Awaited {
    std::vector<std::size_t> streams;
    Nanoseconds submitted;
  };
  void add_waits(std::uint32_t call);
  void begin_at_once(std::uint32_t call);
  [[nodiscard]] Awaited awaited_by(std::uint32_t call);
  void add_handovers();
  [[nodiscard]] Nanoseconds submitted_at(std::uint32_t call) const;
  void wait_for(std::uint32_t call, std::uint32_t work);

  const Recording& recording_;
  const ReplayOptions& options_;
  RecordingIndex index_;
  ReplayGraph graph_;
  std::vector<std::uint32_t> submit_node_;  ///< of each call
  std::vector<std::uint32_t> return_node_;
  std::vector<std::uint32_t> work_node_;
  std::multimap<std::uint64_t, std::uint32_t> waits_;  ///< by correlation, built when first asked
};

/// When within a call its work went off: at its end, or so early that the work could begin before the call returned.
Nanoseconds GraphBuilder::submitted_at(std::uint32_t id) const {
  const HostCall& call = recording_.calls[id];
  Nanoseconds at = call.end;
  for (const std::uint32_t work : index_.work_of(id)) {
    const DeviceWork& of = recording_.work[work];
    if (of.start < call.end) at = std::min(at, of.start - graph_.constants.gap_of(of));
  }
  return std::max(call.start, at);
}

/// Calls of a thread lie one after another; those within another (the driver's within the runtime's) are part of it.
void GraphBuilder::add_thread(std::uint32_t thread) {
  const std::vector<std::uint32_t>& calls = index_.threads()[thread];
  if (calls.empty()) return;
  const std::uint32_t lane = new_lane(false);
  Nanoseconds free = graph_.begin;
  std::uint32_t outer = kNoIndex;
  for (const std::uint32_t id : calls) {
    const HostCall& call = recording_.calls[id];
    if (outer != kNoIndex && call.start < free) {
      submit_node_[id] = submit_node_[outer];
      return_node_[id] = return_node_[outer];
      continue;
    }
    Nanoseconds gap = scaled(call.start - free, ReplayPart::kGap, recording_.names.at(call.name));
    if (!options_.host_gaps && outer != kNoIndex) gap = Nanoseconds(0);
    add_call(id, lane, gap);
    outer = id;
    free = call.end;
  }
}

void GraphBuilder::add_call(std::uint32_t id, std::uint32_t lane, Nanoseconds gap) {
  const HostCall& call = recording_.calls[id];
  const std::string& name = recording_.names.at(call.name);
  const Nanoseconds submitted = submitted_at(id);
  submit_node_[id] = add({.kind = ReplayNodeKind::kCall,
                          .lane = lane,
                          .source = id,
                          .gap = gap,
                          .duration = scaled(submitted - call.start, ReplayPart::kCall, name),
                          .recorded_start = call.start,
                          .recorded_end = submitted,
                          .after = {}});
  return_node_[id] = add({.kind = ReplayNodeKind::kReturn,
                          .lane = lane,
                          .source = id,
                          .duration = scaled(call.end - submitted, ReplayPart::kCall, name),
                          .recorded_start = submitted,
                          .recorded_end = call.end,
                          .after = {}});
}

void GraphBuilder::add_stream(const RecordingIndex::Stream& stream) {
  constexpr ReplayPart kParts[] = {ReplayPart::kKernel, ReplayPart::kCopy, ReplayPart::kFill};
  const std::uint32_t lane = new_lane(false);
  Nanoseconds free(INT64_MIN);
  for (const std::uint32_t id : stream.work) {
    const DeviceWork& work = recording_.work[id];
    const ReplayPart part = kParts[static_cast<std::size_t>(work.kind)];
    // Work that began before the one before it ended, as dependent launches do, is shorter by what they share.
    const Nanoseconds begin = free.count == INT64_MIN ? work.start : std::clamp(free, work.start, work.end);
    Nanoseconds gap = graph_.constants.gap_of(work);
    const bool first = free.count == INT64_MIN;
    const bool late = !first && work.start - free > kLateForAQueue;
    if (index_.call_of(id) == kNoIndex && (first || late)) {
      gap = work.start - (first ? graph_.begin : free);
      ++graph_.pinned;
    } else if (begin != work.start) {
      gap = Nanoseconds(0);
    }
    work_node_[id] = add({.kind = ReplayNodeKind::kWork,
                          .lane = lane,
                          .source = id,
                          .gap = gap,
                          .duration = elsewhere(scaled(work.end - begin, part, recording_.names.at(work.name)), id),
                          .recorded_start = begin,
                          .recorded_end = work.end,
                          .after = {}});
    free = first ? work.end : std::max(free, work.end);
  }
}

/// Between a call and its work lies the way to the device, less the gap that every piece of work has before it.
void GraphBuilder::add_flights() {
  for (const std::vector<std::uint32_t>& calls : index_.threads()) {
    std::uint32_t lane = kNoIndex;
    for (const std::uint32_t id : calls) {
      const HostCall& call = recording_.calls[id];
      for (const std::uint32_t work : index_.work_of(id)) {
        const DeviceWork& of = recording_.work[work];
        const Nanoseconds latency =
            of.start < call.end ? Nanoseconds(0) : graph_.constants.latency_of(call) - graph_.constants.gap_of(of);
        if (latency <= Nanoseconds(0)) {
          graph_.nodes[work_node_[work]].after.push_back(submit_node_[id]);
          continue;
        }
        if (lane == kNoIndex) lane = new_lane(true);
        const std::uint32_t flight = add({.kind = ReplayNodeKind::kFlight,
                                          .lane = lane,
                                          .source = work,
                                          .duration = latency,
                                          .recorded_start = call.end,
                                          .recorded_end = call.end + latency,
                                          .after = {submit_node_[id]}});
        graph_.nodes[work_node_[work]].after.push_back(flight);
      }
    }
  }
}

void GraphBuilder::add_stream_edges() {
  const StreamEdges found = find_stream_edges(recording_, index_, graph_.constants);
  for (const StreamEdge& edge : found.edges) graph_.nodes[work_node_[edge.to]].after.push_back(work_node_[edge.from]);
  graph_.recorded_edges = found.recorded;
  graph_.inferred_edges = found.inferred;
}

/// The call returns after the work ended; what it spent beyond that, it spends again.
void GraphBuilder::wait_for(std::uint32_t id, std::uint32_t work) {
  constexpr Nanoseconds kGrain{2000};
  const HostCall& call = recording_.calls[id];
  const Nanoseconds ended = recording_.work[work].end;
  if (work_node_[work] == kNoIndex || ended > call.end + kGrain) return;  // it did not wait for that
  ReplayNode& back = graph_.nodes[return_node_[id]];
  if (back.source != id) return;
  back.after.push_back(work_node_[work]);
  back.duration = std::min(back.duration, std::max(Nanoseconds(0), call.end - std::max(ended, back.recorded_start)));
}

/// A call that waits has nothing to submit: it begins at once, and all its time is waiting or returning.
void GraphBuilder::begin_at_once(std::uint32_t id) {
  ReplayNode& enter = graph_.nodes[submit_node_[id]];
  if (enter.source != id) return;
  const Nanoseconds start = recording_.calls[id].start;
  graph_.nodes[return_node_[id]].duration = enter.duration;
  graph_.nodes[return_node_[id]].recorded_start = start;
  enter.duration = Nanoseconds(0);
  enter.recorded_end = start;
}

/// Which streams a synchronizing call waits for, and until which time what they got counts.
GraphBuilder::Awaited GraphBuilder::awaited_by(std::uint32_t id) {
  const HostCall& call = recording_.calls[id];
  const std::uint32_t process = recording_.threads[call.thread].process;
  if (waits_.empty()) {
    for (std::uint32_t i = 0; i < recording_.waits.size(); ++i) waits_.emplace(recording_.waits[i].correlation, i);
  }
  Awaited awaited{.streams = {}, .submitted = call.start};
  const auto [from, to] = waits_.equal_range(call.correlation);
  for (auto at = from; at != to && call.correlation != 0; ++at) {
    const DeviceWait& wait = recording_.waits[at->second];
    if (wait.on.process != process) continue;
    const std::uint32_t record = index_.call(process, wait.event_correlation, call.start);
    if (record != kNoIndex) awaited.submitted = std::min(awaited.submitted, recording_.calls[record].start);
    awaited.streams = index_.numbered(process, wait.kind == WaitKind::kEvent ? wait.event_stream : wait.on.stream);
  }
  const std::string& name = recording_.names.at(call.name);
  const bool whole = name.find("Device") != std::string::npos || name.find("Ctx") != std::string::npos;
  const bool event = name.find("Event") != std::string::npos;
  if (!whole && (event || !awaited.streams.empty())) return awaited;
  for (std::size_t i = 0; i < index_.streams().size(); ++i) {
    if (index_.streams()[i].on.process == process) awaited.streams.push_back(i);
  }
  return awaited;
}

void GraphBuilder::add_waits(std::uint32_t id) {
  const HostCall& call = recording_.calls[id];
  const std::string& name = recording_.names.at(call.name);
  if (name.find("Memcpy") != std::string::npos) {
    for (const std::uint32_t work : index_.work_of(id)) {
      if (recording_.work[work].start < call.end) wait_for(id, work);
    }
    return;
  }
  if (name.find("Synchronize") == std::string::npos) return;
  begin_at_once(id);
  const Awaited awaited = awaited_by(id);
  for (const std::size_t stream : awaited.streams) {
    const std::uint32_t work = index_.last_submitted(stream, awaited.submitted);
    if (work != kNoIndex) wait_for(id, work);
  }
}

/// A thread that paused long goes on after the call of another thread that ended last, when that thread then paused itself:
/// PyTorch's autograd thread begins when the main thread calls backward, which goes on when that ends.
void GraphBuilder::add_handovers() {
  struct End {
    Nanoseconds time;
    Nanoseconds next;  ///< start of the thread's next call
    std::uint32_t thread;
    std::uint32_t call;
  };
  std::vector<End> ends;
  for (std::uint32_t thread = 0; thread < index_.threads().size(); ++thread) {
    const std::vector<std::uint32_t>& calls = index_.threads()[thread];
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Nanoseconds next = i + 1 < calls.size() ? recording_.calls[calls[i + 1]].start : Nanoseconds(INT64_MAX);
      const Nanoseconds end = recording_.calls[calls[i]].end;
      if (next > end && next - end >= kLongPause) ends.push_back({end, next, thread, calls[i]});
    }
  }
  std::sort(ends.begin(), ends.end(),
            [](const End& a, const End& b) { return std::tie(a.time, a.call) < std::tie(b.time, b.call); });
  for (std::uint32_t thread = 0; thread < index_.threads().size(); ++thread) {
    Nanoseconds free = graph_.begin;
    for (const std::uint32_t id : index_.threads()[thread]) {
      const HostCall& call = recording_.calls[id];
      const Nanoseconds before = free;
      free = std::max(free, call.end);
      if (call.start < before + kLongPause || graph_.nodes[submit_node_[id]].source != id) continue;
      auto at = std::upper_bound(ends.begin(), ends.end(), call.start,
                                 [](Nanoseconds time, const End& end) { return time < end.time; });
      while (at != ends.begin() && ((--at)->thread == thread || at->next < call.start)) {
        if (at->time <= before) break;
      }
      if (at == ends.end() || at->thread == thread || at->time <= before || at->time > call.start || at->next < call.start)
        continue;
      ReplayNode& node = graph_.nodes[submit_node_[id]];
      node.after.push_back(return_node_[at->call]);
      const Nanoseconds lag = scaled(call.start - at->time, ReplayPart::kGap, recording_.names.at(call.name));
      node.gap = options_.host_gaps ? lag : Nanoseconds(0);
      ++graph_.handovers;
    }
  }
}

}  // namespace

ReplayGraph build_replay_graph(const Recording& recording, const ReplayOptions& options, Nanoseconds skew) {
  return GraphBuilder(recording, options, skew).build();
}

}  // namespace plimsoll
