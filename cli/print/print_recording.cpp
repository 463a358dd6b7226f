#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands/write_recording.h"
#include "core/trace/nested_ranges.h"
#include "formats/runs/short_kernel_name.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMostKernels = 10;

/// From the first event to the last: of ranges too, where neither a device nor a call of its driver is in the recording.
Nanoseconds whole_span(const Recording& recording) {
  const auto [first, last] = span_of(recording);
  if (first < last || recording.ranges.empty()) return last - first;
  Nanoseconds end;
  for (const MarkedRange& range : recording.ranges) end = std::max(end, range.end);
  return end - recording.ranges.front().start;
}

struct Total {
  std::int64_t count = 0;
  Nanoseconds time;
  std::int64_t bytes = 0;

  void add(const DeviceWork& work) {
    ++count;
    time += work.end - work.start;
    bytes += work.bytes;
  }
};

/// "kernels", or "copies HtoD".
std::string sort_of(const DeviceWork& work) {
  if (work.kind == DeviceWorkKind::kKernel) return "kernels";
  if (work.kind == DeviceWorkKind::kFill) return "fills";
  return fmt::format("copies {}", copy_kind_text(work.copy_kind));
}

std::map<std::string, Total> by_sort(const Recording& recording) {
  std::map<std::string, Total> totals;
  for (const DeviceWork& work : recording.work) totals[sort_of(work)].add(work);
  return totals;
}

std::map<DeviceStream, Total> by_stream(const Recording& recording) {
  std::map<DeviceStream, Total> totals;
  for (const DeviceWork& work : recording.work) totals[work.on].add(work);
  return totals;
}

/// Kernels by name, those with the most time first.
std::vector<std::pair<std::string, Total>> by_kernel(const Recording& recording) {
  std::map<std::uint32_t, Total> totals;
  for (const DeviceWork& work : recording.work) {
    if (work.kind == DeviceWorkKind::kKernel) totals[work.name.index].add(work);
  }
  std::vector<std::pair<std::string, Total>> list;
  for (const auto& [name, total] : totals) list.emplace_back(recording.names.at(NameId(name)), total);
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  return list;
}

/// Time in which anything ran on a device.
Nanoseconds busy_time(const Recording& recording) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<Nanoseconds, Nanoseconds>>
      ends;  // by device: busy so far, until when
  for (const DeviceWork& work : recording.work) {
    auto& [busy, until] =
        ends.try_emplace({work.on.process, work.on.device}, Nanoseconds(0), Nanoseconds(INT64_MIN)).first->second;
    if (work.end <= until) continue;
    busy += work.end - std::max(work.start, until);
    until = work.end;
  }
  Nanoseconds all;
  for (const auto& [device, end] : ends) all += end.first;
  return all;
}

std::int64_t peak_reserved(const Recording& recording) {
  std::int64_t peak = -1;
  for (const AllocationEvent& event : recording.allocations) peak = std::max(peak, event.reserved);
  return peak;
}

/// Of the framework's tensors on the host, since the recording began; −1: none told.
std::int64_t host_peak(const Recording& recording) {
  std::int64_t peak = -1;
  for (const AllocationEvent& event : recording.allocations) {
    if (event.of_framework && event.memory_kind != kDeviceMemoryKind) peak = std::max(peak, event.allocated);
  }
  return peak;
}

/// A recording of the host alone: its operators in place of kernels.
std::string host_operators_text(const Recording& recording) {
  std::string text;
  std::size_t shown = 0;
  for (const OperatorTotal& total : operator_totals(recording)) {
    if (++shown > kMostKernels) break;
    text += fmt::format("  {:>12}{:>8} x  {}, without what ran within it\n", to_text(total.own), total.count, total.name);
  }
  return text;
}

}  // namespace

std::string recording_text(const Recording& recording) {
  std::string text = fmt::format("{}: {} from the first event to the last, ", recording.source, to_text(whole_span(recording)));
  text += recording.work.empty() ? "no device work\n" : fmt::format("a device busy for {}\n", to_text(busy_time(recording)));
  for (const RecordedDevice& device : recording.devices)
    text += fmt::format("  gpu{}: {}, {}\n", device.device, device.name, to_text(device.memory));
  for (const auto& [sort, total] : by_sort(recording)) {
    text += fmt::format("  {:<14}{:>9}  {:>12}{}\n", sort, total.count, to_text(total.time),
                        total.bytes > 0 ? "  " + to_text(Bytes(total.bytes)) : "");
  }
  for (const auto& [on, total] : by_stream(recording))
    text += fmt::format("  stream {} of gpu{}: {} pieces of work, {}\n", on.stream, on.device, total.count, to_text(total.time));
  text += fmt::format("  {} calls on {} host threads, {} waits, {} named ranges, {} memory events\n", recording.calls.size(),
                      recording.threads.size(), recording.waits.size(), recording.ranges.size(), recording.allocations.size());
  if (const std::int64_t peak = peak_reserved(recording); peak >= 0)
    text += fmt::format("  the framework reserved {} at most\n", to_text(Bytes(peak)));
  if (const std::int64_t peak = host_peak(recording); peak >= 0)
    text += fmt::format("  tensors in host memory: {} at most beyond those of before the recording\n", to_text(Bytes(peak)));
  if (recording.work.empty()) text += host_operators_text(recording);
  std::size_t shown = 0;
  for (const auto& [name, total] : by_kernel(recording)) {
    if (++shown > kMostKernels) break;
    text += fmt::format("  {:>12}{:>8} x  {}\n", to_text(total.time), total.count, short_kernel_name(name));
  }
  return text;
}

std::string recording_json(const Recording& recording) {
  using nlohmann::ordered_json;
  ordered_json work = ordered_json::array();
  for (const auto& [sort, total] : by_sort(recording))
    work.push_back({{"kind", sort}, {"count", total.count}, {"seconds", to_seconds(total.time)}, {"bytes", total.bytes}});
  ordered_json streams = ordered_json::array();
  for (const auto& [on, total] : by_stream(recording))
    streams.push_back({{"process", on.process},
                       {"device", on.device},
                       {"stream", on.stream},
                       {"count", total.count},
                       {"seconds", to_seconds(total.time)}});
  ordered_json kernels = ordered_json::array();
  for (const auto& [name, total] : by_kernel(recording))
    kernels.push_back({{"name", name}, {"count", total.count}, {"seconds", to_seconds(total.time)}});
  ordered_json operators = ordered_json::array();
  for (const OperatorTotal& total : operator_totals(recording))
    operators.push_back({{"name", total.name}, {"count", total.count}, {"own_seconds", to_seconds(total.own)}});
  ordered_json losses = ordered_json::array();
  for (const RecordingLoss& loss : recording.losses) losses.push_back({{"what", loss.what}, {"count", loss.count}});
  const ordered_json object{{"format_version", 1},
                            {"source", recording.source},
                            {"seconds", to_seconds(whole_span(recording))},
                            {"device_busy_seconds", to_seconds(busy_time(recording))},
                            {"steps", marked_steps(recording).size()},
                            {"work", work},
                            {"streams", streams},
                            {"calls", recording.calls.size()},
                            {"threads", recording.threads.size()},
                            {"waits", recording.waits.size()},
                            {"ranges", recording.ranges.size()},
                            {"memory_events", recording.allocations.size()},
                            {"host_tensors_peak_bytes", host_peak(recording)},
                            {"kernels", kernels},
                            {"operators", operators},
                            {"losses", losses}};
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll
