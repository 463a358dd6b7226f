#include "cli/commands/write_recording.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>

#include "cli/commands.h"
#include "formats/runs/activity_tables.h"
#include "formats/runs/run_file_writer.h"
#include "profiler/decode/instruction_events.h"
#include "session/open_run_file.h"

namespace plimsoll {
namespace {

/// Device work of marked steps as events; of a plan's run, its instructions. Work outside of steps has none.
std::vector<TraceEvent> events_of(const Recording& recording, const std::vector<RecordedStep>& steps) {
  if (!recording.instructions.empty()) return instruction_events(recording);
  std::vector<TraceEvent> events;
  std::uint32_t in_step = 0;
  std::uint32_t before = 0;
  for (const DeviceWork& work : recording.work) {
    const auto after = std::upper_bound(steps.begin(), steps.end(), work.start,
                                        [](Nanoseconds time, const RecordedStep& step) { return time < step.start; });
    if (after == steps.begin()) continue;
    const auto step = static_cast<std::uint32_t>(after - steps.begin() - 1);
    if (step != before) in_step = 0;
    before = step;
    events.push_back({.step = step, .instruction = in_step++, .start = work.start, .end = work.end});
  }
  return events;
}

/// A step lasts until the next one begins, or until its own mark or its last device work ends.
std::vector<StepSummary> summaries_of(const std::vector<RecordedStep>& steps) {
  std::vector<StepSummary> summaries;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Nanoseconds end = i + 1 < steps.size() ? steps[i + 1].start : steps[i].end;
    summaries.push_back({.step = static_cast<std::uint32_t>(i), .start = steps[i].start, .end = end});
  }
  return summaries;
}

std::vector<MemorySample> samples_of(const Recording& recording) {
  std::vector<MemorySample> samples;
  std::map<std::uint32_t, std::int64_t> asked;
  for (const AllocationEvent& event : recording.allocations) {
    const std::string space = fmt::format("gpu{}", event.device);
    if (event.of_framework && event.memory_kind != kDeviceMemoryKind) {
      if (event.allocated >= 0) samples.push_back({event.time, "host", "framework allocated", Bytes(event.allocated)});
    } else if (event.of_framework) {
      if (event.allocated >= 0) samples.push_back({event.time, space, "framework allocated", Bytes(event.allocated)});
      if (event.reserved >= 0) samples.push_back({event.time, space, "framework reserved", Bytes(event.reserved)});
    } else if (event.memory_kind == kDeviceMemoryKind) {
      samples.push_back({event.time, space, "asked of the driver", Bytes(asked[event.device] += event.bytes)});
    }
  }
  for (const MemoryReading& reading : recording.readings)
    samples.push_back({reading.time, fmt::format("gpu{}", reading.device), "device in use", reading.total - reading.free});
  return samples;
}

Result<void> write_tables(const std::string& path, const RunMeta& meta, const Recording& recording,
                          const std::vector<std::string>& notes) {
  const std::vector<RecordedStep> steps = marked_steps(recording);
  {
    RunFileWriter writer(path, meta);
    Trace trace{.kind = TraceKind::kMeasured, .source = recording.source};
    trace.events = events_of(recording, steps);
    trace.steps = summaries_of(steps);
    writer.add_trace({.name = "recorded", .trace = std::move(trace)});
    writer.add_memory(samples_of(recording));
    for (const std::string& note : notes) writer.add_log({.time = {}, .level = "info", .text = note});
    for (const RecordingLoss& loss : recording.losses)
      writer.add_log(
          {.time = {}, .level = "warning", .text = fmt::format("{} {} are not in this recording", loss.count, loss.what)});
    writer.close();
  }
  return add_recording(path, recording);
}

/// A file beside the one that is meant; what is left of it goes unless it took that one's place.
class FileBeside {
 public:
  explicit FileBeside(std::string path) : path_(std::move(path)), part_(path_ + ".part") { remove_run_file(part_); }
  ~FileBeside() {
    if (!placed_) remove_run_file(part_);
  }
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;
  [[nodiscard]] const std::string& part() const { return part_; }

  Result<void> place() {
    remove_run_file(path_);
    std::error_code problem;
    std::filesystem::rename(part_, path_, problem);
    placed_ = !problem;
    if (placed_) return {};
    return fail({.kind = ErrorKind::kEnvironment,
                 .what = "cannot be put in its place: " + problem.message(),
                 .where = path_,
                 .remedy = {}});
  }

 private:
  std::string path_;
  std::string part_;
  bool placed_ = false;
};

}  // namespace

RunMeta meta_of_recording(std::string kind, std::string command, std::string machine) {
  return {.kind = std::move(kind),
          .created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
          .tool_version = version(),
          .command = std::move(command),
          .machine = std::move(machine)};
}

Result<void> write_recording(const std::string& path, const RunMeta& meta, const Recording& recording,
                             const std::vector<std::string>& notes) {
  FileBeside file(path);
  if (auto written = write_tables(file.part(), meta, recording, notes); !written) {
    if (written.error().where.starts_with(file.part())) written.error().where = path;
    return written;
  }
  return file.place();
}

}  // namespace plimsoll
