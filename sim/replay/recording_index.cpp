#include "sim/replay/recording_index.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace plimsoll {
namespace {

/// The runtime's launch calls the driver's within it, and both may carry the correlation id of the work; the outer one is kept.
bool contains(const HostCall& outer, const HostCall& inner) { return outer.start <= inner.start && inner.end <= outer.end; }

}  // namespace

RecordingIndex::RecordingIndex(const Recording& recording, Nanoseconds skew)
    : host_calls_(recording.calls),
      call_of_(recording.work.size(), kNoIndex),
      work_of_(recording.calls.size()),
      threads_(recording.threads.size()) {
  for (std::uint32_t i = 0; i < recording.calls.size(); ++i) {
    threads_[recording.calls[i].thread].push_back(i);
    if (recording.calls[i].correlation != 0) add_call(recording, i);
  }
  std::map<DeviceStream, std::size_t> index_of;
  for (std::uint32_t i = 0; i < recording.work.size(); ++i) {
    const DeviceWork& work = recording.work[i];
    call_of_[i] = call(work.on.process, work.correlation, work.start);
    const bool too_early = call_of_[i] != kNoIndex && recording.calls[call_of_[i]].start > work.start + skew;
    if (too_early) call_of_[i] = kNoIndex;  // the id of another call
    if (call_of_[i] != kNoIndex) work_of_[call_of_[i]].push_back(i);
    const auto [at, is_new] = index_of.try_emplace(work.on, streams_.size());
    if (is_new) streams_.push_back({.on = work.on, .work = {}, .submitted = {}});
    Stream& stream = streams_[at->second];
    const Nanoseconds submitted = call_of_[i] == kNoIndex ? Nanoseconds(INT64_MIN) : recording.calls[call_of_[i]].start;
    stream.submitted.push_back(stream.work.empty() ? submitted : std::max(stream.submitted.back(), submitted));
    stream.work.push_back(i);
  }
}

void RecordingIndex::add_call(const Recording& recording, std::uint32_t i) {
  const HostCall& call = recording.calls[i];
  const CorrelationId id{recording.threads[call.thread].process, call.correlation};
  const auto [known, is_new] = calls_.try_emplace(id, i);
  if (is_new) return;
  const auto later = later_calls_.find(id);
  std::uint32_t& before = later == later_calls_.end() ? known->second : later->second.back();
  if (contains(call, recording.calls[before]))
    before = i;
  else if (!contains(recording.calls[before], call))
    later_calls_[id].push_back(i);
}

std::uint32_t RecordingIndex::call(std::uint32_t process, std::uint64_t correlation, Nanoseconds time) const {
  if (correlation == 0) return kNoIndex;
  const auto known = calls_.find({process, correlation});
  if (known == calls_.end()) return kNoIndex;
  const auto later = later_calls_.find(known->first);
  if (later == later_calls_.end()) return known->second;
  const auto begins_after = [this](Nanoseconds at, std::uint32_t one) { return at < host_calls_[one].start; };
  const auto after = std::upper_bound(later->second.begin(), later->second.end(), time, begins_after);
  return after == later->second.begin() ? known->second : *std::prev(after);
}

std::uint32_t RecordingIndex::last_submitted(std::size_t stream, Nanoseconds time) const {
  const Stream& of = streams_[stream];
  const auto after = std::lower_bound(of.submitted.begin(), of.submitted.end(), time);
  return after == of.submitted.begin() ? kNoIndex : of.work[static_cast<std::size_t>(after - of.submitted.begin() - 1)];
}

std::uint32_t RecordingIndex::first_submitted(std::size_t stream, Nanoseconds time) const {
  const Stream& of = streams_[stream];
  const auto at = std::lower_bound(of.submitted.begin(), of.submitted.end(), time);
  return at == of.submitted.end() ? kNoIndex : of.work[static_cast<std::size_t>(at - of.submitted.begin())];
}

std::vector<std::size_t> RecordingIndex::numbered(std::uint32_t process, std::int64_t stream) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].on.process == process && streams_[i].on.stream == stream) found.push_back(i);
  }
  return found;
}

}  // namespace plimsoll
