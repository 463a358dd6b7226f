#include "formats/runs/recording_chrome.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "formats/runs/chrome_events.h"
#include "formats/text/csv.h"

namespace plimsoll {
namespace {

std::string_view category_of(DeviceWorkKind kind) {
  if (kind == DeviceWorkKind::kKernel) return "kernel";
  return kind == DeviceWorkKind::kCopy ? "gpu_memcpy" : "gpu_memset";
}

std::string_view category_of(RangeKind kind) { return kind == RangeKind::kOperator ? "cpu_op" : "user_annotation"; }

std::string_view kind_text(WaitKind kind) {
  switch (kind) {
    case WaitKind::kEvent:
      return "Event Sync";
    case WaitKind::kStreamWaitsEvent:
      return "Stream Wait Event";
    case WaitKind::kStream:
      return "Stream Sync";
    case WaitKind::kContext:
      return "Context Sync";
    case WaitKind::kUnknown:
      return "Synchronization";
  }
  return "Synchronization";
}

std::string three(const std::array<std::int32_t, 3>& sizes) {
  return json_list({std::to_string(sizes[0]), std::to_string(sizes[1]), std::to_string(sizes[2])});
}

class RecordingWriter {
 public:
  RecordingWriter(std::ostream& out, const Recording& recording) : out_(out), recording_(recording) {
    for (const RecordedThread& thread : recording.threads)
      first_device_ = std::max<std::size_t>(first_device_, thread.process + 1);
  }

  void write() {
    write_names();
    for (const DeviceWork& work : recording_.work) write_work(work);
    for (const HostCall& call : recording_.calls) {
      const std::string args = JsonLine().integer("correlation", signed_of(call.correlation)).str();
      add("cuda_runtime", recording_.names.at(call.name), call.thread, call.start, call.end, args);
    }
    for (const MarkedRange& range : recording_.ranges)
      add(category_of(range.kind), recording_.names.at(range.name), range.thread, range.start, range.end, {});
    for (const DeviceWait& wait : recording_.waits) write_wait(wait);
    for (const AllocationEvent& event : recording_.allocations) write_memory(event);
    out_.end();
  }

 private:
  static std::int64_t signed_of(std::uint64_t value) { return static_cast<std::int64_t>(value); }
  [[nodiscard]] std::size_t process_of(const DeviceStream& on) const { return first_device_ + on.device; }

  void write_names() {
    for (const RecordedThread& thread : recording_.threads) {
      if (!thread.process_name.empty()) out_.name("process_name", thread.process, thread.thread, thread.process_name);
      if (!thread.name.empty()) out_.name("thread_name", thread.process, thread.thread, thread.name);
    }
    std::set<std::pair<std::uint32_t, std::int64_t>> streams;
    for (const DeviceWork& work : recording_.work) streams.emplace(work.on.device, work.on.stream);
    for (const auto& [device, stream] : streams) {
      out_.name("process_name", first_device_ + device, stream, device_name(device));
      out_.name("thread_name", first_device_ + device, stream, fmt::format("stream {}", stream));
    }
  }

  [[nodiscard]] std::string device_name(std::uint32_t number) const {
    for (const RecordedDevice& device : recording_.devices) {
      if (device.device == number && !device.name.empty()) return fmt::format("GPU {}: {}", number, device.name);
    }
    return fmt::format("GPU {}", number);
  }

  void put(std::string_view category, std::string_view name, std::size_t process, std::int64_t thread,
           Nanoseconds start, Nanoseconds end, const std::string& args) {
    JsonLine line = ChromeEvents::line("X", name, process, thread);
    line.text("cat", category).raw("ts", microseconds(start)).raw("dur", microseconds(end - start));
    out_.add(args.empty() ? line : line.raw("args", args));
  }

  void add(std::string_view category, std::string_view name, std::uint32_t thread, Nanoseconds start, Nanoseconds end,
           const std::string& args) {
    const RecordedThread& on = recording_.threads[thread];
    put(category, name, on.process, on.thread, start, end, args);
  }

  void write_work(const DeviceWork& work) {
    JsonLine args;
    args.integer("device", work.on.device).integer("context", work.on.context).integer("stream", work.on.stream);
    args.integer("correlation", signed_of(work.correlation));
    if (work.kind != DeviceWorkKind::kKernel) args.integer("bytes", work.bytes);
    if (work.graph_node != 0) args.integer("graph node id", signed_of(work.graph_node));
    if (work.shape != kNoShape) {
      const LaunchShape& shape = recording_.shapes[work.shape];
      args.raw("grid", three(shape.grid))
          .raw("block", three(shape.block))
          .integer("registers per thread", shape.registers);
      args.integer("shared memory", shape.static_shared + shape.dynamic_shared);
    }
    put(category_of(work.kind), recording_.names.at(work.name), process_of(work.on), work.on.stream, work.start,
        work.end, args.str());
  }

  void write_wait(const DeviceWait& wait) {
    JsonLine args;
    args.text("cuda_sync_kind", kind_text(wait.kind))
        .integer("device", wait.on.device)
        .integer("stream", wait.on.stream);
    args.integer("context", wait.on.context).integer("correlation", signed_of(wait.correlation));
    args.integer("wait_on_stream", wait.event_stream).integer("wait_on_cuda_event_id", wait.event);
    args.integer("wait_on_cuda_event_record_corr_id", signed_of(wait.event_correlation));
    put("cuda_sync", kind_text(wait.kind), process_of(wait.on), wait.on.stream, wait.start, wait.end, args.str());
  }

  void write_memory(const AllocationEvent& event) {
    const bool host = event.memory_kind == kPageableMemoryKind;
    JsonLine args;
    args.integer("Device Type", host ? 0 : 1)
        .integer("Device Id", event.device)
        .integer("Addr", signed_of(event.address));
    args.integer("Bytes", event.bytes)
        .integer("Total Allocated", event.allocated)
        .integer("Total Reserved", event.reserved);
    JsonLine line = ChromeEvents::line("i", "[memory]", event.process, 0);
    line.text("cat", "cpu_instant_event").text("s", "t").raw("ts", microseconds(event.time));
    out_.add(line.raw("args", args.str()));
  }

  ChromeEvents out_;
  const Recording& recording_;
  std::size_t first_device_ = 1;
};

}  // namespace

void write_recording_chrome(std::ostream& out, const Recording& recording) { RecordingWriter(out, recording).write(); }

void write_recording_csv(std::ostream& out, const Recording& recording) {
  out << "kind,name,start_ns,end_ns,process,thread,device,stream,correlation,bytes\n";
  const auto name = [&](NameId id) { return csv_field(recording.names.at(id)); };
  const auto put = [&](std::string_view kind, NameId named, const auto& item, std::uint32_t thread,
                       std::string_view rest) {
    const RecordedThread& on = recording.threads[thread];
    out << fmt::format("{},{},{},{},{},{},,,{}\n", kind, name(named), item.start.count, item.end.count, on.process,
                       on.thread, rest);
  };
  for (const DeviceWork& work : recording.work) {
    out << fmt::format("{},{},{},{},{},,{},{},{},{}\n", to_text(work.kind), name(work.name), work.start.count,
                       work.end.count, work.on.process, work.on.device, work.on.stream, work.correlation, work.bytes);
  }
  for (const HostCall& call : recording.calls)
    put("call", call.name, call, call.thread, fmt::format("{},", call.correlation));
  for (const MarkedRange& range : recording.ranges)
    put(range.kind == RangeKind::kOperator ? "operator" : "range", range.name, range, range.thread, ",");
  for (const DeviceWait& wait : recording.waits) {
    out << fmt::format("wait,{},{},{},{},,{},{},{},\n", kind_text(wait.kind), wait.start.count, wait.end.count,
                       wait.on.process, wait.on.device, wait.on.stream, wait.correlation);
  }
}

}  // namespace plimsoll
