#include "formats/runs/chrome_trace.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "core/plan/expand.h"
#include "formats/plans/instruction_text.h"
#include "formats/text/json_text.h"
#include "formats/runs/queue_lanes.h"

namespace plimsoll {
namespace {

constexpr std::uint32_t kStepsThread = 0;

/// Exact microseconds: "1.234" for 1234 ns.
std::string microseconds(Nanoseconds time) {
  const std::int64_t ns = time.count;
  const std::int64_t size = ns < 0 ? -ns : ns;
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

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

/// Streams the elements of one JSON array.
class Elements {
 public:
  explicit Elements(std::ostream& out) : out_(out) { out_ << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": ["; }
  void add(const JsonLine& line) {
    out_ << (first_ ? "\n" : ",\n") << line.str();
    first_ = false;
  }
  void name(std::string_view what, std::size_t process, std::uint32_t thread, std::string_view name) {
    add(line("M", what, process, thread).raw("args", JsonLine().text("name", name).str()));
  }
  void end() { out_ << "\n]}\n"; }

  static JsonLine line(std::string_view phase, std::string_view name, std::size_t process, std::uint32_t thread) {
    JsonLine line;
    line.text("ph", phase).text("name", name).integer("pid", static_cast<std::int64_t>(process)).integer("tid", thread);
    return line;
  }

 private:
  std::ostream& out_;
  bool first_ = true;
};

/// One trace as one process.
class ProcessWriter {
 public:
  ProcessWriter(Elements& out, const Plan& plan, const NamedTrace& named, std::size_t process)
      : out_(out), plan_(plan), named_(named), process_(process) {
    if (const Body* body = plan.body(named.body)) body_ = expand(plan, *body);
    lanes_ = assign_lanes(plan, body_, named.trace);
    std::uint32_t thread = kStepsThread + 1;
    for (const std::uint32_t count : lanes_.count) first_thread_.push_back(std::exchange(thread, thread + count));
  }

  void write() {
    write_names();
    for (const StepSummary& step : named_.trace.steps) write_step(step);
    for (std::size_t e = 0; e < named_.trace.events.size(); ++e) write_event(named_.trace.events[e], lanes_.lane[e]);
  }

 private:
  void write_names() {
    const bool predicted = named_.trace.kind == TraceKind::kPredicted;
    out_.name("process_name", process_, kStepsThread,
              fmt::format("{} ({}): {}", predicted ? "predicted" : "measured", named_.name, named_.trace.source));
    out_.name("thread_name", process_, kStepsThread, "steps");
    for (std::size_t q = 0; q < lanes_.count.size(); ++q) {
      for (std::uint32_t lane = 0; lane < lanes_.count[q]; ++lane) {
        const std::string& name = plan_.platform.queues[q].name;
        out_.name("thread_name", process_, first_thread_[q] + lane,
                  lane == 0 ? name : fmt::format("{} #{}", name, lane + 1));
      }
    }
  }

  void write_step(const StepSummary& step) {
    JsonLine line = Elements::line("X", fmt::format("step {}", step.step), process_, kStepsThread);
    line.raw("ts", microseconds(step.start)).raw("dur", microseconds(step.duration()));
    out_.add(line.raw("args", JsonLine().raw("loss", json_number_17(step.loss)).str()));
  }

  void write_event(const TraceEvent& event, std::uint32_t lane) {
    const Instruction& instruction = body_.list.instructions[event.instruction];
    JsonLine args;
    args.integer("id", event.instruction).integer("step", event.step).text("kind", to_text(instruction.kind));
    args.text("phase", to_text(instruction.phase)).integer("layer", instruction.layer);
    args.integer("micro_batch", body_.micro_batches[event.instruction]);
    if (instruction.kernel.valid()) args.text("kernel", to_text(plan_.at(instruction.kernel).kind));
    args.integer("bytes", bytes_touched(body_, instruction).count).text("status", status_text(event.status));
    JsonLine line = Elements::line("X", instruction_name(plan_, body_, instruction), process_,
                                   first_thread_[instruction.queue.index] + lane);
    line.text("cat", to_text(instruction.phase));
    line.raw("ts", microseconds(event.start)).raw("dur", microseconds(event.end - event.start));
    out_.add(line.raw("args", args.str()));
  }

  Elements& out_;
  const Plan& plan_;
  const NamedTrace& named_;
  std::size_t process_;
  FlatBody body_;
  QueueLanes lanes_;
  std::vector<std::uint32_t> first_thread_;  ///< of each queue
};

/// One counter a space; each event carries the last value of every category, as stacked counters need.
void write_memory(Elements& out, std::span<const MemorySample> memory, std::size_t process) {
  if (memory.empty()) return;
  out.name("process_name", process, 0, "memory");
  std::map<std::string, std::map<std::string, Bytes>> now;
  for (const MemorySample& sample : memory) {
    std::map<std::string, Bytes>& categories = now[sample.space];
    categories[sample.category] = sample.bytes;
    JsonLine values;
    for (const auto& [category, bytes] : categories) values.integer(category, bytes.count);
    JsonLine line = Elements::line("C", sample.space, process, 0);
    out.add(line.raw("ts", microseconds(sample.time)).raw("args", values.str()));
  }
}

}  // namespace

void write_chrome_trace(std::ostream& out, const Plan& plan, const std::vector<const NamedTrace*>& traces,
                        std::span<const MemorySample> memory) {
  Elements elements(out);
  std::size_t process = 1;
  for (const NamedTrace* named : traces) ProcessWriter(elements, plan, *named, process++).write();
  write_memory(elements, memory, process);
  elements.end();
}

}  // namespace plimsoll
