#include "formats/runs/trace_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/plan/transfers.h"
#include "formats/plans/instruction_text.h"

namespace plimsoll {
namespace {

constexpr std::uint8_t kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 8, kHostToHost = 9;
constexpr std::uint8_t kPinned = 1, kOnDevice = 2;

bool on_gpu(const Queue& queue) { return queue.kind == QueueKind::kCompute || queue.kind == QueueKind::kCopy; }

/// Issues in nanoseconds before the first event: two a piece of work, its launch and its event.
class Issuer {
 public:
  Issuer(Recording& recording, std::size_t count, Nanoseconds begin)
      : recording_(recording), next_(begin - Nanoseconds(2 * static_cast<std::int64_t>(count))) {
    thread_ = recording.thread(0, 0);
    recording.threads[thread_].name = "issue (in order; takes no time)";
    launch_ = recording.names.add("issue");
    record_ = recording.names.add("cudaEventRecord");
  }

  std::uint64_t launch() { return call(launch_, next_); }
  std::uint64_t record() { return call(record_, next_ + Nanoseconds(1)); }
  void go_on() { next_ += Nanoseconds(2); }

 private:
  std::uint64_t call(NameId name, Nanoseconds at) {
    recording_.calls.push_back(
        {.start = at, .end = at, .correlation = ++correlation_, .name = name, .thread = thread_});
    return correlation_;
  }

  Recording& recording_;
  Nanoseconds next_;
  std::uint64_t correlation_ = 0;
  std::uint32_t thread_ = 0;
  NameId launch_, record_;
};

/// One trace's part of the recording.
class TraceRecorder {
 public:
  TraceRecorder(Recording& recording, const Plan& plan, const NamedTrace& named, std::uint32_t index)
      : recording_(recording), plan_(plan), named_(named), layout_(lay_out_trace(plan, named)), index_(index) {}

  [[nodiscard]] std::size_t size() const { return named_.trace.events.size() + layout_.lane_count(); }

  /// Something without duration on every lane at the recording's begin: so a replay learns that issuing takes no time.
  void add_begins(Issuer& issuer, Nanoseconds begin) {
    const NameId name = recording_.names.add("stream begins");
    for (std::size_t q = 0; q < layout_.lanes.count.size(); ++q) {
      for (std::uint32_t lane = 0; lane < layout_.lanes.count[q]; ++lane) {
        recording_.work.push_back({.start = begin,
                                   .end = begin,
                                   .correlation = issuer.launch(),
                                   .on = stream_of(QueueId(q), layout_.first_lane[q] + lane),
                                   .name = name,
                                   .kind = DeviceWorkKind::kFill});
        issuer.go_on();
      }
    }
  }

  void add(Issuer& issuer) {
    add_steps();
    std::vector<std::uint64_t> record(named_.trace.events.size(), 0);
    std::set<std::size_t> awaited;
    for (const TraceWait& wait : layout_.waits) awaited.insert(wait.from);
    auto wait = layout_.waits.begin();
    for (std::size_t e = 0; e < named_.trace.events.size(); ++e) {
      const Instruction& instruction = layout_.body.list.instructions[named_.trace.events[e].instruction];
      if (!takes_time(instruction)) continue;
      const std::uint64_t launched = issuer.launch();
      if (awaited.count(e) > 0) record[e] = issuer.record();
      issuer.go_on();
      add_work(e, instruction, launched);
      for (; wait != layout_.waits.end() && wait->to == e; ++wait) add_wait(*wait, launched, record[wait->from]);
    }
  }

 private:
  void add_steps() {
    const std::uint32_t thread = recording_.thread(0, index_ + 1);
    recording_.threads[thread].name = fmt::format("steps of {}", named_.name);
    for (const StepSummary& step : named_.trace.steps) {
      recording_.ranges.push_back({.start = step.start,
                                   .end = step.end,
                                   .name = recording_.names.add(fmt::format("ProfilerStep#{}", step.step)),
                                   .thread = thread});
    }
  }

  [[nodiscard]] DeviceStream stream_of(QueueId queue, std::uint32_t lane) const {
    const bool gpu = on_gpu(plan_.platform.at(queue));
    return {.process = 0,
            .device = 2 * index_ + (gpu ? 0u : 1u),
            .context = 0,
            .stream = std::int64_t{1000} * index_ + lane};
  }
  [[nodiscard]] DeviceStream stream_of(std::size_t e) const {
    const Instruction& instruction = layout_.body.list.instructions[named_.trace.events[e].instruction];
    return stream_of(instruction.queue, layout_.lane_of(named_.trace, e));
  }

  void add_work(std::size_t e, const Instruction& instruction, std::uint64_t launched) {
    const TraceEvent& event = named_.trace.events[e];
    const bool transfer = is_transfer(instruction.kind);
    const std::uint8_t kind = copy_kind_of(plan_, layout_.body, instruction);
    DeviceWork work{.start = event.start,
                    .end = event.end,
                    .correlation = launched,
                    .on = stream_of(e),
                    .kind = transfer ? DeviceWorkKind::kCopy : DeviceWorkKind::kKernel};
    work.name = recording_.names.add(transfer ? transfer_name(plan_, layout_.body, instruction)
                                              : instruction_name(plan_, instruction));
    if (transfer) {
      work.bytes = bytes_touched(layout_.body, instruction).count;
      work.copy_kind = kind;
      work.source_kind = kind == kHostToDevice ? kPinned : kind == kDeviceToHost ? kOnDevice : kUnknownMemoryKind;
      work.target_kind = kind == kHostToDevice ? kOnDevice : kind == kDeviceToHost ? kPinned : kUnknownMemoryKind;
    } else {
      work.shape = static_cast<std::uint32_t>(recording_.shapes.size());
      recording_.shapes.push_back({.grid = {1, 1, 1}, .block = {1, 1, 1}});
    }
    recording_.work.push_back(work);
  }

  void add_wait(const TraceWait& wait, std::uint64_t launched, std::uint64_t record) {
    const Nanoseconds at = named_.trace.events[wait.to].start;
    recording_.waits.push_back({.start = at,
                                .end = at,
                                .correlation = launched,
                                .event_correlation = record,
                                .on = stream_of(wait.to),
                                .event = static_cast<std::int64_t>(record),
                                .event_stream = stream_of(wait.from).stream,
                                .kind = WaitKind::kStreamWaitsEvent});
  }

  Recording& recording_;
  const Plan& plan_;
  const NamedTrace& named_;
  TraceLayout layout_;
  std::uint32_t index_;
};

}  // namespace

std::string_view status_text(EventStatus status) {
  switch (status) {
    case EventStatus::kPredicted:
      return "predicted";
    case EventStatus::kMeasured:
      return "measured";
    case EventStatus::kBounded:
      return "bounded";
    case EventStatus::kSkipped:
      return "skipped";
  }
  return "?";
}

TraceLayout lay_out_trace(const Plan& plan, const NamedTrace& named) {
  TraceLayout layout;
  if (const Body* body = plan.body(named.body)) layout.body = expand(plan, *body);
  layout.lanes = assign_lanes(plan, layout.body, named.trace);
  layout.waits = trace_waits(layout.body, named.trace, layout.lanes);
  std::uint32_t lane = 1;
  for (const std::uint32_t count : layout.lanes.count) layout.first_lane.push_back(std::exchange(lane, lane + count));
  return layout;
}

std::uint8_t copy_kind_of(const Plan& plan, const FlatBody& body, const Instruction& instruction) {
  if (instruction.kind != InstructionKind::kCopy) return 0;
  const auto uses = body.uses(instruction);
  if (uses.size() < 2)
    return plan.platform.at(instruction.queue).name.find("d2h") != std::string::npos ? kDeviceToHost : kHostToDevice;
  const auto on_device = [&](const Use& use) {
    return plan.platform.at(plan.buffers[use.target].space).kind == SpaceKind::kDevice;
  };
  if (on_device(uses[0])) return on_device(uses[1]) ? kDeviceToDevice : kDeviceToHost;
  return on_device(uses[1]) ? kHostToDevice : kHostToHost;
}

std::string transfer_name(const Plan& plan, const FlatBody& body, const Instruction& instruction) {
  switch (copy_kind_of(plan, body, instruction)) {
    case kHostToDevice:
      return "Memcpy HtoD (Pinned -> Device)";
    case kDeviceToHost:
      return "Memcpy DtoH (Device -> Pinned)";
    case kDeviceToDevice:
      return "Memcpy DtoD (Device -> Device)";
    case kHostToHost:
      return "Memcpy HtoH (Pinned -> Pinned)";
    default:
      return fmt::format("{} {}", to_text(instruction.kind), plan.platform.at(instruction.queue).name);
  }
}

Recording recording_of_traces(const Plan& plan, const std::vector<const NamedTrace*>& traces) {
  Recording recording;
  recording.source = "plimsoll";
  std::vector<TraceRecorder> recorders;
  std::size_t count = 0;
  Nanoseconds begin(0);
  for (const NamedTrace* named : traces) {
    const auto index = static_cast<std::uint32_t>(recorders.size());
    recorders.emplace_back(recording, plan, *named, index);
    recording.devices.push_back({.device = 2 * index, .name = fmt::format("{} ({})", plan.platform.name, named->name)});
    recording.devices.push_back({.device = 2 * index + 1, .name = fmt::format("host and drives ({})", named->name)});
    count += recorders.back().size();
    for (const TraceEvent& event : named->trace.events) begin = std::min(begin, event.start);
  }
  Issuer issuer(recording, count, begin);
  for (TraceRecorder& recorder : recorders) recorder.add_begins(issuer, begin);
  for (TraceRecorder& recorder : recorders) recorder.add(issuer);
  recording.sort();
  return recording;
}

}  // namespace plimsoll
