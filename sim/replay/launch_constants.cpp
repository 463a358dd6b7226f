#include "sim/replay/launch_constants.h"

#include <algorithm>
#include <set>
#include <utility>

namespace plimsoll {
namespace {

constexpr Nanoseconds kSurelyWaiting{5000};

std::int64_t median(std::vector<std::int64_t>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The mean of what is no outlier: medians alone would drift, gap by gap, over thousands of kernels.
Nanoseconds typical(std::vector<std::int64_t> values) {
  const std::int64_t limit = 4 * std::max<std::int64_t>(median(values), 500);
  std::int64_t sum = 0, count = 0;
  for (const std::int64_t value : values) {
    if (value > limit) continue;
    sum += value;
    ++count;
  }
  return Nanoseconds(count == 0 ? 0 : sum / count);
}

/// The median of what is no outlier: some of the work had to wait for something else than its launch.
Nanoseconds unhindered(std::vector<std::int64_t> values) {
  const auto quarter = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), quarter, values.end());
  const std::int64_t limit = 4 * std::max<std::int64_t>(*quarter, 1000);
  values.erase(std::remove_if(values.begin(), values.end(), [&](std::int64_t value) { return value > limit; }), values.end());
  return Nanoseconds(median(values));
}

}  // namespace

Nanoseconds LaunchConstants::latency_of(const HostCall& call) const {
  const auto known = latency.find(call.name.index);
  return known == latency.end() ? Nanoseconds(0) : known->second;
}

namespace {

/// Launches that say themselves that they await an event: what stands before their work is that wait. CUDA's own have a call of
/// its own for it; traces of plans do not (recording_of_traces).
std::set<std::pair<std::uint32_t, std::uint64_t>> awaiting_launches(const Recording& recording) {
  std::set<std::pair<std::uint32_t, std::uint64_t>> launches;
  for (const DeviceWait& wait : recording.waits) {
    if (wait.kind == WaitKind::kStreamWaitsEvent) launches.insert({wait.on.process, wait.correlation});
  }
  return launches;
}

}  // namespace

LaunchConstants measure_launches(const Recording& recording, const RecordingIndex& index) {
  const auto awaiting = awaiting_launches(recording);
  std::array<std::vector<std::int64_t>, 3> gaps;
  std::map<std::uint32_t, std::vector<std::int64_t>> latencies;
  for (const RecordingIndex::Stream& stream : index.streams()) {
    Nanoseconds free(INT64_MIN);
    for (const std::uint32_t id : stream.work) {
      const DeviceWork& work = recording.work[id];
      const std::uint32_t call_id = index.call_of(id);
      const Nanoseconds before = free;
      free = std::max(free, work.end);
      if (call_id == kNoIndex || awaiting.count({work.on.process, work.correlation}) > 0) continue;
      const HostCall& call = recording.calls[call_id];
      if (call.end + kSurelyWaiting <= before && work.start >= before) {
        gaps[static_cast<std::size_t>(work.kind)].push_back((work.start - before).count);
      } else if (before <= call.start && work.start >= call.end) {
        latencies[call.name.index].push_back((work.start - call.end).count);
      }
    }
  }
  LaunchConstants constants;
  for (std::size_t kind = 0; kind < gaps.size(); ++kind) constants.gap[kind] = typical(std::move(gaps[kind]));
  for (auto& [name, values] : latencies) constants.latency[name] = unhindered(std::move(values));
  return constants;
}

}  // namespace plimsoll
