#include "gui/timeline/open_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>

#include "formats/runs/run_file.h"
#include "formats/runs/short_kernel_name.h"
#include "formats/traces/read_nsight.h"
#include "formats/traces/read_operators.h"
#include "formats/traces/read_recording.h"
#include "gui/timeline/work_class.h"
#include "sim/replay/operator_schedule.h"

namespace plimsoll::gui {
namespace {

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// What the categories and names of Kineto and of our own export say.
WorkClass class_of(const std::string& name, const std::string& category) {
  if (holds(name, "HtoD")) return WorkClass::kCopyIn;
  if (holds(name, "DtoH")) return WorkClass::kCopyOut;
  if (holds(name, "nccl")) return WorkClass::kCollective;
  if (category == "kernel") return WorkClass::kKernel;
  if (category == "forward") return WorkClass::kForward;
  if (category == "backward") return WorkClass::kBackward;
  if (category == "optimizer") return WorkClass::kOptimizer;
  if (category == "load") return WorkClass::kLoad;
  return WorkClass::kOther;
}

/// One box before it has a lane.
struct Slice {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint32_t label = 0;
};

class TimelineMaker {
 public:
  explicit TimelineMaker(const Recording& recording) : recording_(recording) {}

  std::shared_ptr<Timeline> make() {
    for (const DeviceWork& work : recording_.work) take_work(work);
    for (const HostCall& call : recording_.calls)
      add({call.start.count, call.end.count, label(call.name, "call")}, thread_name(call.thread) + " · CUDA", 2);
    for (const MarkedRange& range : recording_.ranges) {
      const bool drawn = range.kind == RangeKind::kDrawn;
      add({range.start.count, range.end.count, label(range.name, drawn ? recording_.names.at(range.category) : "")},
          thread_name(range.thread), 1);
    }
    place_tracks();
    return timeline_;
  }

 private:
  void take_work(const DeviceWork& work) {
    const std::string process = processes() > 1 ? fmt::format("process {} ", work.on.process) : "";
    const auto id = label(work.name, work.kind == DeviceWorkKind::kKernel ? "kernel" : "");
    add({work.start.count, work.end.count, id}, fmt::format("{}gpu{} · stream {}", process, work.on.device, work.on.stream), 0);
  }

  std::size_t processes() {
    if (processes_ == 0) {
      std::map<std::uint32_t, int> seen;
      for (const DeviceWork& work : recording_.work) seen[work.on.process] = 1;
      processes_ = std::max<std::size_t>(1, seen.size());
    }
    return processes_;
  }

  const std::string& thread_name(std::uint32_t index) {
    const auto [known, is_new] = thread_names_.try_emplace(index);
    if (!is_new) return known->second;
    const RecordedThread& thread = recording_.threads[index];
    known->second = thread.name.empty() ? fmt::format("thread {}", thread.thread) : thread.name;
    const auto other = std::find_if(recording_.threads.begin(), recording_.threads.end(), [&](const RecordedThread& t) {
      return t.process != thread.process || t.process_name != thread.process_name;
    });
    const std::string process = thread.process_name.empty() ? fmt::format("process {}", thread.process) : thread.process_name;
    if (other != recording_.threads.end() && !holds(known->second, process)) known->second = process + " " + known->second;
    return known->second;
  }

  std::uint32_t label(NameId name, const std::string& category) {
    const auto [known, is_new] = labels_.try_emplace({name.index, category}, static_cast<std::uint32_t>(timeline_->labels.size()));
    if (!is_new) return known->second;
    const std::string& full = recording_.names.at(name);
    const std::string shown = category == "kernel" ? short_kernel_name(full) : full;
    const auto [entry, new_name] = names_.try_emplace(shown, static_cast<std::uint32_t>(timeline_->names.size()));
    if (new_name) timeline_->names.push_back(shown);
    timeline_->labels.push_back({entry->second, paint_index(class_of(full, category), WorkTone::kProduct)});
    return known->second;
  }

  /// `order`: streams stand above what threads did.
  void add(Slice slice, const std::string& track, int order) {
    tracks_[{order, track}].push_back(slice);
    begin_ = std::min(begin_, slice.start);
    end_ = std::max(end_, slice.end);
  }

  void place_tracks() {
    for (auto& [key, slices] : tracks_) {
      timeline_->tracks.push_back({key.second, key.first == 0 ? QueueKind::kCompute : QueueKind::kHostCompute, {}});
      place(timeline_->tracks.back(), slices);
    }
    timeline_->bounds = {0, static_cast<double>(std::max(end_ - begin_, std::int64_t{1}))};
  }

  /// The first lane that is free when a slice begins; of slices that begin together the longer one is the outer.
  void place(TimelineTrack& track, std::vector<Slice>& slices) const {
    std::stable_sort(slices.begin(), slices.end(),
                     [](const Slice& a, const Slice& b) { return a.start != b.start ? a.start < b.start : a.end > b.end; });
    std::vector<std::int64_t> busy_until;
    for (const Slice& slice : slices) {
      const auto free = std::find_if(busy_until.begin(), busy_until.end(), [&](std::int64_t end) { return end <= slice.start; });
      const auto lane = static_cast<std::size_t>(free - busy_until.begin());
      if (free == busy_until.end()) {
        busy_until.push_back(slice.end);
        track.lanes.emplace_back();
      } else {
        *free = slice.end;
      }
      track.lanes[lane].add({slice.start - begin_, slice.end - begin_, slice.label, 0});
    }
    for (EventLane& lane : track.lanes) lane.finish();
  }

  const Recording& recording_;
  std::shared_ptr<Timeline> timeline_ = std::make_shared<Timeline>();
  std::size_t processes_ = 0;
  std::map<std::uint32_t, std::string> thread_names_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> labels_;
  std::map<std::string, std::uint32_t> names_;
  std::map<std::pair<int, std::string>, std::vector<Slice>> tracks_;
  std::int64_t begin_ = INT64_MAX;
  std::int64_t end_ = INT64_MIN;
};

/// An execution trace has no times but those of its replay.
Result<Recording> read_any(const std::string& path) {
  if (!holds_operators(path)) return read_recording(path, true);
  const auto trace = read_operators(path);
  if (!trace) return fail(trace.error());
  auto schedule = schedule_operators(*trace);
  if (!schedule) {
    schedule.error().where = path;
    return fail(schedule.error());
  }
  return recording_of(*trace, *schedule);
}

}  // namespace

bool looks_like_recording(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 65536> begin{};
  file.read(begin.data(), begin.size());
  const std::string_view text(begin.data(), static_cast<std::size_t>(file.gcount()));
  const bool packed = text.starts_with("\x1f\x8b");
  const bool array = text.starts_with("[") && text.find("\"ph\"") != std::string_view::npos;
  return packed || array || text.find("\"traceEvents\"") != std::string_view::npos || holds_operators(path);
}

bool is_foreign_recording(const std::string& path) {
  const auto activity = holds_activity(path);
  if (!activity || !*activity) return false;
  const auto run = read_run_file(path);
  return !run || run->plans.empty();
}

Result<SharedTimeline> timeline_of_recording(const Recording& recording, const std::string& source) {
  if (recording.work.empty() && recording.calls.empty() && recording.ranges.empty()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "the trace holds nothing with a beginning and an end",
                 .where = source,
                 .remedy = "record operations (\"ph\":\"X\") and export again"});
  }
  auto timeline = TimelineMaker(recording).make();
  timeline->kind = TraceKind::kMeasured;
  timeline->source = source;
  timeline->no_curves_because = "the trace tells no memory that is drawn here";
  return SharedTimeline(std::move(timeline));
}

Result<SharedTimeline> open_recording(const std::string& path) {
  const auto recording = read_any(path);
  if (!recording) return fail(recording.error());
  return timeline_of_recording(*recording, path);
}

}  // namespace plimsoll::gui
