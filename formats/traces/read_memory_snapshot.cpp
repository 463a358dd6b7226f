#include "formats/traces/read_memory_snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "formats/traces/pickle_values.h"

namespace plimsoll {
namespace {

using Id = PickleValues::Id;

/// What lies in the segments of a device when the snapshot was taken.
struct AtEnd {
  std::int64_t reserved = 0;
  std::int64_t requested = 0;
};

class SnapshotReader {
 public:
  explicit SnapshotReader(const PickleValues& values) : values_(values) {}

  Recording read() {
    recording_.source = "PyTorch memory snapshot";
    read_segments();
    const std::vector<Id>& devices = values_.items(values_.find(values_.top(), "device_traces"));
    for (std::size_t device = 0; device < devices.size(); ++device) read_device(devices[device], static_cast<std::uint32_t>(device));
    recording_.sort();
    shift_to_first();
    return std::move(recording_);
  }

 private:
  [[nodiscard]] std::int64_t number(Id dict, std::string_view key, std::int64_t otherwise = 0) const {
    return values_.number(values_.find(dict, key), otherwise);
  }

  /// A size that no device has is cut to what one may have, and counted.
  std::int64_t size_of(Id dict, std::string_view key) {
    const std::int64_t said = number(dict, key);
    if (cut(said) != said) recording_.lose("parts of sizes that no device has");
    return cut(said);
  }

  static std::int64_t cut(std::int64_t bytes) { return std::clamp<std::int64_t>(bytes, 0, kMostBytes); }

  static void add(std::int64_t& sum, std::int64_t bytes) { sum = std::clamp(sum + bytes, -kMostSum, kMostSum); }

  void read_segments() {
    for (const Id segment : values_.items(values_.find(values_.top(), "segments"))) {
      AtEnd& end = at_end_[number(segment, "device")];
      add(end.reserved, size_of(segment, "total_size"));
      for (const Id block : values_.items(values_.find(segment, "blocks"))) {
        const std::string& state = values_.text(values_.find(block, "state"));
        const bool asked = values_.find(block, "requested_size") != PickleValues::kNothing;
        if (state.starts_with("active")) add(end.requested, size_of(block, asked ? "requested_size" : "size"));
      }
    }
  }

  void read_device(Id trace, std::uint32_t device) {
    AtEnd now = before_history(trace, device);
    for (const Id entry : values_.items(trace)) {
      const std::string& action = values_.text(values_.find(entry, "action"));
      const std::int64_t size = size_of(entry, "size");
      add(now.reserved, reserves(action) * size);
      add(now.requested, asks(action) * size);
      if (asks(action) == 0 && reserves(action) >= 0) {
        if (action == "oom") recording_.lose("requests that ran out of memory");
        continue;
      }
      recording_.allocations.push_back({.time = Nanoseconds(std::clamp(number(entry, "time_us"), -kMostTime, kMostTime) * 1000),
                                        .address = static_cast<std::uint64_t>(number(entry, "addr")),
                                        .bytes = asks(action) * size,
                                        .allocated = std::max<std::int64_t>(0, now.requested),
                                        .reserved = std::max<std::int64_t>(0, now.reserved),
                                        .device = device,
                                        .of_framework = true,
                                        .stream = number(entry, "stream")});
    }
  }

  /// What was there before the first entry that was kept.
  AtEnd before_history(Id trace, std::uint32_t device) const {
    const auto found = at_end_.find(device);
    AtEnd before = found == at_end_.end() ? AtEnd{} : found->second;
    AtEnd change;
    std::int64_t lowest = 0;
    for (const Id entry : values_.items(trace)) {
      const std::string& action = values_.text(values_.find(entry, "action"));
      const std::int64_t size = std::clamp<std::int64_t>(number(entry, "size"), 0, kMostBytes);
      add(change.reserved, reserves(action) * size);
      add(change.requested, asks(action) * size);
      lowest = std::min(lowest, change.reserved);
    }
    if (found == at_end_.end()) return {.reserved = -lowest, .requested = 0};
    before.reserved = std::max<std::int64_t>(-lowest, before.reserved - change.reserved);
    before.requested = std::max<std::int64_t>(0, before.requested - change.requested);
    return before;
  }

  static std::int64_t reserves(std::string_view action) {
    if (action == "segment_alloc" || action == "segment_map") return 1;
    return action == "segment_free" || action == "segment_unmap" ? -1 : 0;
  }
  /// A block is free for others once its streams are done with it.
  static std::int64_t asks(std::string_view action) {
    if (action == "alloc") return 1;
    return action == "free_completed" || action == "free" ? -1 : 0;
  }

  void shift_to_first() {
    if (recording_.allocations.empty()) return;
    const Nanoseconds first = recording_.allocations.front().time;
    recording_.epoch = first.count;
    for (AllocationEvent& event : recording_.allocations) event.time -= first;
  }

  static constexpr std::int64_t kMostTime = INT64_MAX / 4000;
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 44;
  static constexpr std::int64_t kMostSum = std::int64_t{1} << 60;

  const PickleValues& values_;
  Recording recording_;
  std::map<std::int64_t, AtEnd> at_end_;
};

}  // namespace

Result<Recording> read_memory_snapshot(const std::string& path) {
  auto source = ByteSource::open(path);
  if (!source) return fail(source.error());
  try {
    const PickleValues values = PickleValues::read(std::move(*source));
    if (values.find(values.top(), "device_traces") == PickleValues::kNothing) {
      return fail({.kind = ErrorKind::kInput,
                   .what = "a pickle, but no memory snapshot: it has no \"device_traces\"",
                   .where = path,
                   .remedy = "record with torch.cuda.memory._record_memory_history(), write with torch.cuda.memory._dump_snapshot(FILE)"});
    }
    return SnapshotReader(values).read();
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace plimsoll
