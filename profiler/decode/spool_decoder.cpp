#include "profiler/decode/spool_decoder.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

namespace plimsoll {
namespace {

constexpr const char* kUnnamed = "(its name was lost)";

std::string demangle(const std::string& name) {
  if (name.rfind("_Z", 0) != 0) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

Nanoseconds at(std::uint64_t time) { return Nanoseconds(static_cast<std::int64_t>(time)); }

WaitKind wait_kind(std::uint32_t kind) {
  return kind <= static_cast<std::uint32_t>(WaitKind::kContext) ? static_cast<WaitKind>(kind) : WaitKind::kUnknown;
}

}  // namespace

SpoolDecoder::SpoolDecoder(Recording& recording, std::uint32_t process)
    : recording_(recording), process_(process), before_{recording.work.size(),        recording.calls.size(),
                                                        recording.waits.size(),       recording.ranges.size(),
                                                        recording.allocations.size(), recording.readings.size()} {}

void SpoolDecoder::take(const SpoolRecord& record) {
  std::visit([this](const auto& value) { on(value); }, record);
}

NameId SpoolDecoder::name_of(std::uint32_t id) {
  if (id < names_.size() && names_[id].valid()) return names_[id];
  return recording_.names.add(kUnnamed);
}

DeviceStream SpoolDecoder::stream_of(std::uint32_t device, std::uint32_t context, std::uint32_t stream) const {
  return {.process = process_, .device = device, .context = context, .stream = stream};
}

void SpoolDecoder::on(const NameRecord& record) {
  if (record.id != names_.size()) return;  // ids count up; anything else is not from a writer
  names_.push_back(recording_.names.add(demangle(record.text)));
}

void SpoolDecoder::on(const KernelRecord& record) {
  device_of_context_[record.context] = record.device;
  LaunchShape shape{.registers = record.registers,
                    .static_shared = record.static_shared,
                    .dynamic_shared = record.dynamic_shared,
                    .local = record.local};
  std::copy_n(record.grid, 3, shape.grid.begin());
  std::copy_n(record.block, 3, shape.block.begin());
  recording_.work.push_back({.start = at(record.start),
                             .end = at(record.end),
                             .correlation = record.correlation,
                             .on = stream_of(record.device, record.context, record.stream),
                             .name = name_of(record.name),
                             .shape = static_cast<std::uint32_t>(recording_.shapes.size()),
                             .graph_node = record.graph_node,
                             .kind = DeviceWorkKind::kKernel});
  recording_.shapes.push_back(shape);
}

void SpoolDecoder::on(const CopyRecord& record) {
  device_of_context_[record.context] = record.device;
  recording_.work.push_back({.start = at(record.start),
                             .end = at(record.end),
                             .correlation = record.correlation,
                             .bytes = static_cast<std::int64_t>(record.bytes),
                             .on = stream_of(record.device, record.context, record.stream),
                             .name = recording_.names.add(fmt::format("Memcpy {}", copy_kind_text(record.kind))),
                             .graph_node = record.graph_node,
                             .kind = DeviceWorkKind::kCopy,
                             .copy_kind = record.kind,
                             .source_kind = record.source_kind,
                             .target_kind = record.target_kind});
}

void SpoolDecoder::on(const FillRecord& record) {
  device_of_context_[record.context] = record.device;
  recording_.work.push_back({.start = at(record.start),
                             .end = at(record.end),
                             .correlation = record.correlation,
                             .bytes = static_cast<std::int64_t>(record.bytes),
                             .on = stream_of(record.device, record.context, record.stream),
                             .name = recording_.names.add("Memset"),
                             .graph_node = record.graph_node,
                             .kind = DeviceWorkKind::kFill,
                             .target_kind = static_cast<std::uint8_t>(record.memory_kind)});
}

void SpoolDecoder::on(const MemoryRecord& record) {
  auto bytes = static_cast<std::int64_t>(record.bytes);
  if (record.released == 0) {
    live_bytes_[record.address] = bytes;
  } else if (const auto known = live_bytes_.find(record.address); known != live_bytes_.end()) {
    bytes = known->second;  // releases do not always tell
    live_bytes_.erase(known);
  }
  recording_.allocations.push_back({.time = at(record.time),
                                    .address = record.address,
                                    .bytes = record.released == 0 ? bytes : -bytes,
                                    .process = process_,
                                    .device = record.device,
                                    .memory_kind = record.memory_kind,
                                    .of_framework = false});
}

void SpoolDecoder::on(const CallRecord& record) {
  recording_.calls.push_back({.start = at(record.start),
                              .end = at(record.end),
                              .correlation = record.correlation,
                              .name = name_of(record.name),
                              .thread = recording_.thread(process_, record.thread),
                              .result = record.result});
}

void SpoolDecoder::on(const SyncRecord& record) {
  event_waits_.emplace_back(recording_.waits.size(), record);
  recording_.waits.push_back({.start = at(record.start),
                              .end = at(record.end),
                              .correlation = record.correlation,
                              .on = stream_of(0, record.context, record.stream),
                              .event = record.event,
                              .kind = wait_kind(record.kind)});
}

void SpoolDecoder::on(const EventRecord& record) { events_[{record.context, record.event}].push_back(record); }

void SpoolDecoder::on(const MarkRecord& record) {
  if (record.kind == MarkKind::kBegin) {
    open_ranges_[record.id] = record;
    return;
  }
  MarkRecord begin = record;
  if (record.kind == MarkKind::kEnd) {
    const auto open = open_ranges_.find(record.id);
    if (open == open_ranges_.end()) return recording_.lose("beginnings of NVTX ranges");
    begin = open->second;
    open_ranges_.erase(open);
  }
  recording_.ranges.push_back({.start = at(begin.time),
                               .end = at(record.time),
                               .name = name_of(begin.name),
                               .thread = recording_.thread(process_, begin.thread),
                               .kind = RangeKind::kAnnotation});
}

void SpoolDecoder::on(const ExternalRecord& record) {
  recording_.instructions.push_back({.correlation = record.correlation,
                                     .process = process_,
                                     .step = static_cast<std::uint32_t>(record.external >> 32),
                                     .instruction = static_cast<std::uint32_t>(record.external & 0xffffffffu)});
}

void SpoolDecoder::on(const LostRecord& record) { recording_.lose("device records", record.count); }

void SpoolDecoder::on(const ClockRecord& record) { clocks_.push_back({.from = record.capture, .to = record.calendar}); }

void SpoolDecoder::on(const ReadingRecord& record) {
  recording_.readings.push_back({.time = at(record.time),
                                 .device = record.device,
                                 .free = Bytes(static_cast<std::int64_t>(record.free)),
                                 .total = Bytes(static_cast<std::int64_t>(record.total))});
}

void SpoolDecoder::on(const DeviceRecord& record) {
  const auto known = std::find_if(recording_.devices.begin(), recording_.devices.end(),
                                  [&](const RecordedDevice& device) { return device.device == record.device; });
  if (known != recording_.devices.end()) return;  // another process's
  recording_.devices.push_back({.device = record.device,
                                .name = recording_.names.at(name_of(record.name)),
                                .memory = Bytes(static_cast<std::int64_t>(record.memory)),
                                .compute_major = static_cast<std::int32_t>(record.compute_major),
                                .compute_minor = static_cast<std::int32_t>(record.compute_minor),
                                .multiprocessors = static_cast<std::int32_t>(record.multiprocessors)});
}

/// The recording of an event that a wait means: the last before it, by its serial number where CUPTI tells one.
const EventRecord* SpoolDecoder::recorded_event(const SyncRecord& sync) const {
  const auto known = events_.find({sync.context, sync.event});
  if (known == events_.end()) return nullptr;
  for (auto event = known->second.rbegin(); event != known->second.rend(); ++event) {
    if (event->correlation > sync.correlation) continue;
    const bool told = sync.event_sync != 0 && event->event_sync != 0;
    if (!told || event->event_sync == sync.event_sync) return &*event;
  }
  return nullptr;
}

void SpoolDecoder::join_events() {
  for (auto& [key, list] : events_) {
    std::stable_sort(list.begin(), list.end(),
                     [](const EventRecord& a, const EventRecord& b) { return a.correlation < b.correlation; });
  }
  for (const auto& [index, sync] : event_waits_) {
    DeviceWait& wait = recording_.waits[index];
    const auto device = device_of_context_.find(sync.context);
    if (device != device_of_context_.end()) wait.on.device = device->second;
    if (wait.kind != WaitKind::kEvent && wait.kind != WaitKind::kStreamWaitsEvent) continue;
    const EventRecord* const found = recorded_event(sync);
    if (found == nullptr) continue;
    wait.event_correlation = found->correlation;
    wait.event_stream = found->stream;
  }
}

void SpoolDecoder::move_times(const ClockFit& fit) {
  const auto moved = [&](Nanoseconds time) { return Nanoseconds(fit(time.count) - recording_.epoch); };
  const auto move_stretches = [&](auto& list, std::size_t from) {
    for (std::size_t i = from; i < list.size(); ++i) {
      list[i].start = moved(list[i].start);
      list[i].end = std::max(list[i].start, moved(list[i].end));
    }
  };
  const auto move_moments = [&](auto& list, std::size_t from) {
    for (std::size_t i = from; i < list.size(); ++i) list[i].time = moved(list[i].time);
  };
  move_stretches(recording_.work, before_.work);
  move_stretches(recording_.calls, before_.calls);
  move_stretches(recording_.waits, before_.waits);
  move_stretches(recording_.ranges, before_.ranges);
  move_moments(recording_.allocations, before_.allocations);
  move_moments(recording_.readings, before_.readings);
}

ClockFit SpoolDecoder::finish() {
  recording_.lose("ends of NVTX ranges", open_ranges_.size());
  join_events();
  const ClockFit fit = fit_clock(clocks_);
  move_times(fit);
  return fit;
}

}  // namespace plimsoll
