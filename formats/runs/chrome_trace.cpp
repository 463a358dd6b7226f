#include "formats/runs/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/plan/expand.h"
#include "core/plan/transfers.h"
#include "formats/plans/instruction_text.h"
#include "formats/runs/chrome_events.h"
#include "formats/runs/trace_recording.h"

namespace plimsoll {
namespace {

constexpr std::uint32_t kStepsThread = 0;
constexpr std::size_t kIssueProcess = 1'000'000;

/// One trace as one process.
class ProcessWriter {
 public:
  ProcessWriter(ChromeEvents& out, const Plan& plan, const NamedTrace& named, std::size_t process)
      : out_(out),
        plan_(plan),
        named_(named),
        process_(process),
        layout_(lay_out_trace(plan, named)),
        body_(layout_.body) {}

  /// `recorded` goes from piece of work to piece of work in the order of the trace.
  void write(std::vector<DeviceWork>::const_iterator& recorded) {
    write_names();
    for (const StepSummary& step : named_.trace.steps) write_step(step);
    for (std::size_t e = 0; e < named_.trace.events.size(); ++e) write_event(e, recorded);
  }

 private:
  void write_names() {
    const bool predicted = named_.trace.kind == TraceKind::kPredicted;
    out_.name("process_name", process_, kStepsThread,
              fmt::format("{} ({}): {}", predicted ? "predicted" : "measured", named_.name, named_.trace.source));
    out_.name("thread_name", process_, kStepsThread, "steps");
    for (std::size_t q = 0; q < layout_.lanes.count.size(); ++q) {
      for (std::uint32_t lane = 0; lane < layout_.lanes.count[q]; ++lane) {
        const std::string& name = plan_.platform.queues[q].name;
        out_.name("thread_name", process_, layout_.first_lane[q] + lane,
                  lane == 0 ? name : fmt::format("{} #{}", name, lane + 1));
      }
    }
  }

  void write_step(const StepSummary& step) {
    JsonLine line = ChromeEvents::line("X", fmt::format("ProfilerStep#{}", step.step), process_, kStepsThread);
    line.text("cat", "user_annotation").raw("ts", microseconds(step.start)).raw("dur", microseconds(step.duration()));
    out_.add(line.raw("args", JsonLine().raw("loss", json_number_17(step.loss)).str()));
  }

  void write_event(std::size_t e, std::vector<DeviceWork>::const_iterator& recorded) {
    const TraceEvent& event = named_.trace.events[e];
    const Instruction& instruction = body_.list.instructions[event.instruction];
    JsonLine args;
    args.integer("id", event.instruction).integer("step", event.step).text("kind", to_text(instruction.kind));
    args.text("phase", to_text(instruction.phase)).integer("layer", instruction.layer);
    args.integer("micro_batch", body_.micro_batches[event.instruction]);
    if (instruction.kernel.valid()) args.text("kernel", to_text(plan_.at(instruction.kernel).kind));
    args.integer("bytes", bytes_touched(body_, instruction).count).text("status", status_text(event.status));
    const bool drawn = takes_time(instruction), transfer = is_transfer(instruction.kind);
    const auto name = transfer ? transfer_name(plan_, body_, instruction) : std::string(instruction_name(plan_, body_, instruction));
    JsonLine line = ChromeEvents::line("X", name, process_, layout_.lane_of(named_.trace, e));
    line.text("cat", !drawn ? "Trace" : transfer ? "gpu_memcpy" : "kernel");
    line.raw("ts", microseconds(event.start)).raw("dur", microseconds(event.end - event.start));
    if (drawn) {
      args.integer("device", recorded->on.device).integer("stream", recorded->on.stream);
      args.integer("correlation", static_cast<std::int64_t>((recorded++)->correlation));
    }
    out_.add(line.raw("args", args.str()));
  }

  ChromeEvents& out_;
  const Plan& plan_;
  const NamedTrace& named_;
  std::size_t process_;
  TraceLayout layout_;
  const FlatBody& body_;
};

/// The thread that issues all work, beforehand and without taking time, and what streams waited for: for those who replay.
void write_issue(ChromeEvents& out, const Recording& recording) {
  if (recording.calls.empty()) return;
  out.name("process_name", kIssueProcess, 0, "order of issue (takes no time)");
  for (const HostCall& call : recording.calls) {
    JsonLine line = ChromeEvents::line("X", recording.names.at(call.name), kIssueProcess, 0);
    line.text("cat", "cuda_runtime").raw("ts", microseconds(call.start)).raw("dur", "0");
    out.add(line.raw("args", JsonLine().integer("correlation", static_cast<std::int64_t>(call.correlation)).str()));
  }
  for (const DeviceWork& work : recording.work) {
    if (work.kind != DeviceWorkKind::kFill) continue;
    JsonLine args;
    args.integer("device", work.on.device).integer("stream", work.on.stream).integer("bytes", 0);
    args.integer("correlation", static_cast<std::int64_t>(work.correlation));
    JsonLine line = ChromeEvents::line("X", recording.names.at(work.name), kIssueProcess, 0);
    line.text("cat", "gpu_memset").raw("ts", microseconds(work.start)).raw("dur", "0");
    out.add(line.raw("args", args.str()));
  }
  for (const DeviceWait& wait : recording.waits) {
    JsonLine args;
    args.text("cuda_sync_kind", "Stream Wait Event").integer("stream", wait.on.stream).integer("device", wait.on.device);
    args.integer("correlation", static_cast<std::int64_t>(wait.correlation)).integer("wait_on_stream", wait.event_stream);
    args.integer("wait_on_cuda_event_record_corr_id", static_cast<std::int64_t>(wait.event_correlation));
    args.integer("wait_on_cuda_event_id", wait.event);
    JsonLine line = ChromeEvents::line("X", "Stream Wait Event", kIssueProcess, 0);
    line.text("cat", "cuda_sync").raw("ts", microseconds(wait.start)).raw("dur", "0");
    out.add(line.raw("args", args.str()));
  }
}

/// One counter a space; each event carries the last value of every category, as stacked counters need.
void write_memory(ChromeEvents& out, std::span<const MemorySample> memory, std::size_t process) {
  if (memory.empty()) return;
  out.name("process_name", process, 0, "memory");
  std::map<std::string, std::map<std::string, Bytes>> now;
  for (const MemorySample& sample : memory) {
    std::map<std::string, Bytes>& categories = now[sample.space];
    categories[sample.category] = sample.bytes;
    JsonLine values;
    for (const auto& [category, bytes] : categories) values.integer(category, bytes.count);
    JsonLine line = ChromeEvents::line("C", sample.space, process, 0);
    out.add(line.raw("ts", microseconds(sample.time)).raw("args", values.str()));
  }
}

}  // namespace

void write_chrome_trace(std::ostream& out, const Plan& plan, const std::vector<const NamedTrace*>& traces,
                        std::span<const MemorySample> memory) {
  ChromeEvents elements(out);
  Recording recording = recording_of_traces(plan, traces);
  // Back to the order of issue: first the lanes' begins, then the traces' events.
  std::sort(recording.work.begin(), recording.work.end(),
            [](const DeviceWork& a, const DeviceWork& b) { return a.correlation < b.correlation; });
  auto recorded = std::find_if(recording.work.cbegin(), recording.work.cend(),
                               [](const DeviceWork& work) { return work.kind != DeviceWorkKind::kFill; });
  std::size_t process = 1;
  for (const NamedTrace* named : traces) ProcessWriter(elements, plan, *named, process++).write(recorded);
  write_memory(elements, memory, process);
  write_issue(elements, recording);
  elements.end();
}

}  // namespace plimsoll
