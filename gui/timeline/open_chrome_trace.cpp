#include "gui/timeline/open_chrome_trace.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>

#include "gui/timeline/chrome_slices.h"
#include "gui/timeline/work_class.h"

namespace plimsoll::gui {
namespace {

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// What the categories and names of Kineto and of our own export say.
WorkClass class_of(const ChromeSlices::Label& label) {
  if (holds(label.name, "HtoD")) return WorkClass::kCopyIn;
  if (holds(label.name, "DtoH")) return WorkClass::kCopyOut;
  if (holds(label.name, "nccl")) return WorkClass::kCollective;
  if (label.category == "kernel") return WorkClass::kKernel;
  if (label.category == "forward") return WorkClass::kForward;
  if (label.category == "backward") return WorkClass::kBackward;
  if (label.category == "optimizer") return WorkClass::kOptimizer;
  if (label.category == "load") return WorkClass::kLoad;
  return WorkClass::kOther;
}

QueueKind kind_of(const ChromeSlices& slices, const std::vector<ForeignSlice>& own) {
  const auto is_kernel = [&](const ForeignSlice& slice) { return class_of(slices.labels[slice.label]) == WorkClass::kKernel; };
  return std::any_of(own.begin(), own.end(), is_kernel) ? QueueKind::kCompute : QueueKind::kHostCompute;
}

/// Names each once, labels in the order of the slices' ids.
void add_labels(Timeline& timeline, const ChromeSlices& slices) {
  std::map<std::string, std::uint32_t> known;
  for (const ChromeSlices::Label& label : slices.labels) {
    const auto [entry, is_new] = known.emplace(label.name, static_cast<std::uint32_t>(timeline.names.size()));
    if (is_new) timeline.names.push_back(label.name);
    timeline.labels.push_back({entry->second, paint_index(class_of(label), WorkTone::kProduct)});
  }
}

/// The first lane that is free when a slice begins; of slices that begin together the longer one is the outer.
void add_slices(TimelineTrack& track, std::vector<ForeignSlice> slices, std::int64_t origin) {
  std::stable_sort(slices.begin(), slices.end(), [](const ForeignSlice& a, const ForeignSlice& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  std::vector<std::int64_t> busy_until;
  for (const ForeignSlice& slice : slices) {
    const auto free = std::find_if(busy_until.begin(), busy_until.end(), [&](std::int64_t end) { return end <= slice.start; });
    const auto lane = static_cast<std::size_t>(free - busy_until.begin());
    if (free == busy_until.end()) {
      busy_until.push_back(slice.end);
      track.lanes.emplace_back();
    } else {
      *free = slice.end;
    }
    track.lanes[lane].add({slice.start - origin, slice.end - origin, slice.label, 0});
  }
  for (EventLane& lane : track.lanes) lane.finish();
}

std::string name_of_thread(const ChromeSlices& slices, const ChromeSlices::Thread& thread) {
  const auto named = slices.thread_names.find(thread);
  const std::string own = named == slices.thread_names.end() ? thread.second : named->second;
  const auto process = slices.process_names.find(thread.first);
  const bool several = slices.process_names.size() > 1 && process != slices.process_names.end();
  return several ? process->second + " " + own : own;
}

}  // namespace

bool looks_like_chrome_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 65536> begin{};
  file.read(begin.data(), begin.size());
  const std::string_view text(begin.data(), static_cast<std::size_t>(file.gcount()));
  const bool array = text.substr(0, 1) == "[" && text.find("\"ph\"") != std::string_view::npos;
  return array || text.find("\"traceEvents\"") != std::string_view::npos;
}

Result<SharedTimeline> open_chrome_trace(const std::string& path) {
  auto slices = read_chrome_slices(path);
  if (!slices) return fail(slices.error());
  auto timeline = std::make_shared<Timeline>();
  timeline->kind = TraceKind::kMeasured;
  timeline->source = path;
  timeline->no_curves_because = "the trace tells no memory that is drawn here";
  std::int64_t begin = INT64_MAX;
  std::int64_t end = INT64_MIN;
  for (const auto& [thread, own] : slices->threads) {
    for (const ForeignSlice& slice : own) {
      begin = std::min(begin, slice.start);
      end = std::max(end, slice.end);
    }
  }
  add_labels(*timeline, *slices);
  for (auto& [thread, own] : slices->threads) {
    timeline->tracks.push_back({name_of_thread(*slices, thread), kind_of(*slices, own), {}});
    add_slices(timeline->tracks.back(), std::move(own), begin);
  }
  timeline->bounds = {0, static_cast<double>(std::max(end - begin, std::int64_t{1}))};
  return timeline;
}

}  // namespace plimsoll::gui
