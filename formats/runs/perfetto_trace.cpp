#include "formats/runs/perfetto_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "formats/plans/instruction_text.h"
#include "formats/runs/proto_message.h"
#include "formats/runs/trace_recording.h"

namespace plimsoll {
namespace {

// Fields of Trace, TracePacket, TrackDescriptor, ProcessDescriptor, CounterDescriptor, TrackEvent and DebugAnnotation.
constexpr std::uint32_t kPacket = 1;
constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kSequenceFlags = 13, kTrackDescriptor = 60;
constexpr std::uint32_t kUuid = 1, kTrackName = 2, kProcess = 3, kParent = 5, kCounter = 8, kChildOrdering = 11,
                        kRank = 12;
constexpr std::uint32_t kPid = 1, kProcessName = 6;
constexpr std::uint32_t kUnit = 3;
constexpr std::uint32_t kAnnotation = 4, kType = 9, kTrack = 11, kCategory = 22, kEventName = 23, kCounterValue = 30,
                        kFlow = 47, kLastFlow = 48;
constexpr std::uint32_t kAnnotationName = 10, kAnnotationInteger = 4, kAnnotationText = 6;
constexpr std::uint64_t kBegin = 1, kEnd = 2, kCounterEvent = 4;
constexpr std::uint64_t kExplicitOrder = 3, kBytesUnit = 3, kFreshState = 1;

/// Packets of one sequence, with times from `begin` on.
class Packets {
 public:
  Packets(std::ostream& out, Nanoseconds begin) : out_(out), begin_(begin) {
    ProtoMessage first;  // says that the sequence begins, and by the same bytes always what file this is
    add(first.varint(kSequence, 1).varint(kSequenceFlags, kFreshState));
  }

  /// A track below `parent` (0: none) in the place `rank`; its number.
  std::uint64_t track(std::string_view name, std::uint64_t parent, std::uint64_t rank) {
    ProtoMessage track = named(name);
    if (parent != 0) track.varint(kParent, parent);
    return describe(track.varint(kRank, rank));
  }
  std::uint64_t process(std::string_view name, std::uint64_t pid) {
    ProtoMessage track = named({});
    track.message(kProcess, ProtoMessage().varint(kPid, pid).text(kProcessName, name));
    return describe(track.varint(kChildOrdering, kExplicitOrder).varint(kRank, pid));
  }
  std::uint64_t counter(std::string_view name, std::uint64_t parent) {
    ProtoMessage track = named(name);
    return describe(track.varint(kParent, parent).message(kCounter, ProtoMessage().varint(kUnit, kBytesUnit)));
  }
  void event(Nanoseconds time, ProtoMessage& event) {
    ProtoMessage packet;
    packet.varint(kTimestamp, static_cast<std::uint64_t>((time - begin_).count)).varint(kSequence, 1);
    add(packet.message(kTrackEvent, event));
  }
  void end(Nanoseconds time, std::uint64_t track) {
    ProtoMessage event;
    this->event(time, event.varint(kType, kEnd).varint(kTrack, track));
  }

 private:
  ProtoMessage named(std::string_view name) {
    ProtoMessage track;
    track.varint(kUuid, ++tracks_);
    if (!name.empty()) track.text(kTrackName, name);
    return track;
  }
  std::uint64_t describe(const ProtoMessage& track) {
    ProtoMessage packet;
    packet.varint(kSequence, 1);
    add(packet.message(kTrackDescriptor, track));
    return tracks_;
  }
  void add(const ProtoMessage& packet) { out_ << ProtoMessage().message(kPacket, packet).bytes(); }

  std::ostream& out_;
  Nanoseconds begin_;
  std::uint64_t tracks_ = 0;
};

ProtoMessage slice(std::uint64_t track, std::string_view name, std::string_view category) {
  ProtoMessage event;
  event.varint(kType, kBegin).varint(kTrack, track).text(kEventName, name).text(kCategory, category);
  return event;
}

void annotate(ProtoMessage& event, std::string_view name, std::int64_t value) {
  event.message(
      kAnnotation,
      ProtoMessage().text(kAnnotationName, name).varint(kAnnotationInteger, static_cast<std::uint64_t>(value)));
}

void annotate(ProtoMessage& event, std::string_view name, std::string_view value) {
  event.message(kAnnotation, ProtoMessage().text(kAnnotationName, name).text(kAnnotationText, value));
}

/// One trace as one process.
class PerfettoProcess {
 public:
  PerfettoProcess(Packets& out, const Plan& plan, const NamedTrace& named, std::uint64_t pid)
      : out_(out), plan_(plan), named_(named), layout_(lay_out_trace(plan, named)), pid_(pid) {}

  void write() {
    write_tracks();
    for (const TraceWait& wait : layout_.waits) {
      leaving_[wait.from].push_back(++flows_);
      arriving_[wait.to].push_back(flows_);
    }
    // Each track's slices one behind the other: of equal times the end comes before the next beginning.
    std::vector<std::size_t> order;
    for (std::size_t e = 0; e < named_.trace.events.size(); ++e) {
      if (takes_time(instruction_of(e))) order.push_back(e);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return named_.trace.events[a].start < named_.trace.events[b].start;
    });
    for (const std::size_t e : order) write_event(e);
  }

 private:
  [[nodiscard]] const Instruction& instruction_of(std::size_t e) const {
    return layout_.body.list.instructions[named_.trace.events[e].instruction];
  }

  void write_tracks() {
    const bool predicted = named_.trace.kind == TraceKind::kPredicted;
    const std::uint64_t process = out_.process(
        fmt::format("{} ({}): {}", predicted ? "predicted" : "measured", named_.name, named_.trace.source), pid_);
    const std::uint64_t steps = out_.track("steps", process, 0);
    for (const StepSummary& step : named_.trace.steps) {
      ProtoMessage event = slice(steps, fmt::format("step {}", step.step), "step");
      out_.event(step.start, event);
      out_.end(step.end, steps);
    }
    tracks_.push_back(steps);
    for (std::size_t q = 0; q < layout_.lanes.count.size(); ++q) {
      for (std::uint32_t lane = 0; lane < layout_.lanes.count[q]; ++lane) {
        const std::string& name = plan_.platform.queues[q].name;
        tracks_.push_back(
            out_.track(lane == 0 ? name : fmt::format("{} #{}", name, lane + 1), process, tracks_.size()));
      }
    }
  }

  void write_event(std::size_t e) {
    const TraceEvent& event = named_.trace.events[e];
    const Instruction& instruction = instruction_of(e);
    const std::uint64_t track = tracks_[layout_.lane_of(named_.trace, e)];
    ProtoMessage begin = slice(track, instruction_name(plan_, layout_.body, instruction), to_text(instruction.phase));
    annotate(begin, "id", event.instruction);
    annotate(begin, "step", event.step);
    annotate(begin, "layer", instruction.layer);
    annotate(begin, "micro_batch", layout_.body.micro_batches[event.instruction]);
    annotate(begin, "bytes", bytes_touched(layout_.body, instruction).count);
    annotate(begin, "kind", to_text(instruction.kind));
    for (const std::uint64_t flow : leaving_[e]) begin.fixed64(kFlow, pid_ << 32 | flow);
    for (const std::uint64_t flow : arriving_[e]) begin.fixed64(kLastFlow, pid_ << 32 | flow);
    out_.event(event.start, begin);
    out_.end(event.end, track);
  }

  Packets& out_;
  const Plan& plan_;
  const NamedTrace& named_;
  TraceLayout layout_;
  std::uint64_t pid_;
  std::uint64_t flows_ = 0;
  std::map<std::size_t, std::vector<std::uint64_t>> leaving_, arriving_;  ///< flows by event
  std::vector<std::uint64_t> tracks_;                                     ///< by lane; the first is that of the steps
};

void write_counters(Packets& out, std::span<const MemorySample> memory, std::uint64_t pid) {
  if (memory.empty()) return;
  const std::uint64_t process = out.process("memory", pid);
  std::map<std::pair<std::string, std::string>, std::uint64_t> tracks;
  for (const MemorySample& sample : memory) {
    const auto [known, is_new] = tracks.try_emplace({sample.space, sample.category}, 0);
    if (is_new) known->second = out.counter(fmt::format("{} {}", sample.space, sample.category), process);
    ProtoMessage event;
    event.varint(kType, kCounterEvent).varint(kTrack, known->second);
    out.event(sample.time, event.varint(kCounterValue, static_cast<std::uint64_t>(sample.bytes.count)));
  }
}

}  // namespace

void write_perfetto_trace(std::ostream& out, const Plan& plan, const std::vector<const NamedTrace*>& traces,
                          std::span<const MemorySample> memory) {
  Nanoseconds begin(0);
  for (const NamedTrace* named : traces) {
    for (const TraceEvent& event : named->trace.events) begin = std::min(begin, event.start);
    for (const StepSummary& step : named->trace.steps) begin = std::min(begin, step.start);
  }
  for (const MemorySample& sample : memory) begin = std::min(begin, sample.time);
  Packets packets(out, begin);
  std::uint64_t pid = 1;
  for (const NamedTrace* named : traces) PerfettoProcess(packets, plan, *named, pid++).write();
  write_counters(packets, memory, pid);
}

}  // namespace plimsoll
