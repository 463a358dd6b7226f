#include "sim/replay/stream_edges.h"

#include <algorithm>
#include <string_view>

namespace plimsoll {
namespace {

/// Later than this than its launch and its stream explain, work has waited for something else.
constexpr Nanoseconds kUnexplained{2000};
/// From the end of what was waited for to the start of what waited.
constexpr Nanoseconds kHandover{30'000};
/// Clocks of old traces count whole microseconds.
constexpr Nanoseconds kGrain{1000};

bool waits_for_event(std::string_view name) { return name.find("StreamWaitEvent") != std::string_view::npos; }

class EdgeFinder {
 public:
  EdgeFinder(const Recording& recording, const RecordingIndex& index, const LaunchConstants& constants)
      : recording_(recording), index_(index), constants_(constants) {
    for (const HostCall& call : recording.calls) {
      if (waits_for_event(recording.names.at(call.name))) wait_calls_.push_back(call.start);
    }
    std::sort(wait_calls_.begin(), wait_calls_.end());
    for (std::uint32_t i = 0; i < recording.work.size(); ++i) by_end_.push_back(i);
    std::stable_sort(by_end_.begin(), by_end_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return recording.work[a].end < recording.work[b].end; });
  }

  StreamEdges find() {
    for (const DeviceWait& wait : recording_.waits) {
      if (wait.kind == WaitKind::kStreamWaitsEvent) add_recorded(wait);
    }
    for (const RecordingIndex::Stream& stream : index_.streams()) infer_on(stream);
    return std::move(found_);
  }

 private:
  /// Work that was submitted to the event's stream before the event was recorded, before work that was submitted to the waiting
  /// stream after the wait.
  void add_recorded(const DeviceWait& wait) {
    if (wait.event_stream < 0) return;
    const std::uint32_t record = index_.call(wait.on.process, wait.event_correlation, wait.start);
    const std::uint32_t asking = index_.call(wait.on.process, wait.correlation, wait.start);
    const Nanoseconds asked = asking == kNoIndex ? wait.start : recording_.calls[asking].start;
    const Nanoseconds recorded = record == kNoIndex ? asked : recording_.calls[record].start;
    for (const std::size_t waiting : index_.numbered(wait.on.process, wait.on.stream)) {
      const std::uint32_t to = index_.first_submitted(waiting, asked);
      if (to == kNoIndex) continue;
      for (const std::size_t stream : index_.numbered(wait.on.process, wait.event_stream)) {
        const std::uint32_t from = index_.last_submitted(stream, recorded);
        if (from == kNoIndex || stream == waiting) continue;
        if (recording_.work[from].end > recording_.work[to].start + kGrain) continue;  // what ran says otherwise
        found_.edges.push_back({from, to});
        ++found_.recorded;
      }
    }
  }

  void infer_on(const RecordingIndex::Stream& stream) {
    Nanoseconds free(INT64_MIN);
    Nanoseconds launched_before(INT64_MIN);
    for (const std::uint32_t id : stream.work) {
      const DeviceWork& work = recording_.work[id];
      const std::uint32_t call = index_.call_of(id);
      const Nanoseconds launched = call == kNoIndex ? Nanoseconds(INT64_MIN) : recording_.calls[call].start;
      if (call != kNoIndex && was_told_to_wait(work, launched_before, launched)) infer(id, call, free);
      free = std::max(free, work.end);
      launched_before = std::max(launched_before, launched);
    }
  }

  [[nodiscard]] bool was_told_to_wait(const DeviceWork& work, Nanoseconds after, Nanoseconds before) const {
    if (work.graph_node != 0) return true;
    const auto wait = std::lower_bound(wait_calls_.begin(), wait_calls_.end(), after);
    return wait != wait_calls_.end() && *wait <= before;
  }

  void infer(std::uint32_t id, std::uint32_t call_id, Nanoseconds free) {
    const DeviceWork& work = recording_.work[id];
    const HostCall& call = recording_.calls[call_id];
    const Nanoseconds gap = constants_.gap_of(work);
    const Nanoseconds explained = std::max(call.end + constants_.latency_of(call), free.count == INT64_MIN ? free : free + gap);
    if (work.start <= explained + kUnexplained) return;
    const std::uint32_t from = ended_just_before(work, call);
    if (from == kNoIndex) return;
    found_.edges.push_back({from, id});
    ++found_.inferred;
  }

  /// Work of another stream of the process, submitted earlier, that ended last before this started.
  [[nodiscard]] std::uint32_t ended_just_before(const DeviceWork& work, const HostCall& call) const {
    auto at = std::upper_bound(by_end_.begin(), by_end_.end(), work.start + kGrain,
                               [&](Nanoseconds time, std::uint32_t id) { return time < recording_.work[id].end; });
    while (at != by_end_.begin()) {
      const DeviceWork& other = recording_.work[*--at];
      if (other.end + kHandover < work.start) break;
      const bool elsewhere = other.on.process == work.on.process && other.on != work.on;
      if (elsewhere && other.start < work.start && submitted_before(*at, call)) return *at;
    }
    return kNoIndex;
  }

  [[nodiscard]] bool submitted_before(std::uint32_t work, const HostCall& call) const {
    const std::uint32_t by = index_.call_of(work);
    return by == kNoIndex || recording_.calls[by].start <= call.start;
  }

  const Recording& recording_;
  const RecordingIndex& index_;
  const LaunchConstants& constants_;
  std::vector<Nanoseconds> wait_calls_;
  std::vector<std::uint32_t> by_end_;
  StreamEdges found_;
};

}  // namespace

StreamEdges find_stream_edges(const Recording& recording, const RecordingIndex& index, const LaunchConstants& constants) {
  return EdgeFinder(recording, index, constants).find();
}

}  // namespace plimsoll
