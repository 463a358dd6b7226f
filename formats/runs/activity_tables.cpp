#include "formats/runs/activity_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "formats/runs/activity_schema.h"
#include "formats/runs/run_file_schema.h"
#include "formats/runs/short_kernel_name.h"
#include "formats/runs/statement.h"

namespace plimsoll {
namespace {

constexpr const char* kExportVersion = "3.16.1";
constexpr std::int64_t kPushPopRange = 59;
constexpr std::int64_t kFrameworkDomain = 1;  ///< NVTX domain under which operators of a framework stand

/// Writes one recording's tables.
class Writer {
 public:
  Writer(Database& database, const Recording& recording) : database_(database), recording_(recording) {}

  void write() {
    write_names();
    write_kernels();
    write_copies();
    write_fills();
    write_calls();
    write_waits();
    write_event_waits();
    write_allocations();
    write_ranges();
    write_devices();
    write_streams();
    write_session();
    write_threads();
    write_ours();
  }

 private:
  /// A statement that fills one row of `table`, which is made now.
  Statement rows_of(ActivityTable table, int columns) {
    make(table);
    std::string marks = "?";
    for (int i = 1; i < columns; ++i) marks += ",?";
    return Statement(database_, fmt::format("INSERT INTO {} VALUES ({})", name_of(table), marks));
  }
  void make(ActivityTable table) { database_.run(std::string(schema_of(table))); }

  [[nodiscard]] bool has(DeviceWorkKind kind) const {
    return std::any_of(recording_.work.begin(), recording_.work.end(), [&](const DeviceWork& work) { return work.kind == kind; });
  }

  void write_names();
  void write_kernels();
  void write_copies();
  void write_fills();
  void write_calls();
  void write_waits();
  void write_event_waits();
  void write_allocations();
  void write_ranges();
  void write_devices();
  void write_streams();
  void write_session();
  void write_threads();
  void write_ours();

  Database& database_;
  const Recording& recording_;
  std::vector<std::int64_t> short_names_;   ///< StringIds of the short form of each name
  std::vector<std::int64_t> thread_names_;  ///< of each thread's name; -1: it has none
};

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

void Writer::write_names() {
  Statement row = rows_of(ActivityTable::kStringIds, 2);
  NamePool names;
  for (std::uint32_t i = 0; i < recording_.names.size(); ++i) names.add(recording_.names.at(NameId(i)));
  short_names_.resize(recording_.names.size());
  for (const DeviceWork& work : recording_.work) {
    std::int64_t& id = short_names_[work.name.index];
    if (work.kind == DeviceWorkKind::kKernel && id == 0) {
      id = names.add(short_kernel_name(recording_.names.at(work.name))).index + std::int64_t{1};
    }
  }
  for (const RecordedThread& thread : recording_.threads)
    thread_names_.push_back(thread.name.empty() ? -1 : std::int64_t{names.add(thread.name).index});
  for (std::uint32_t i = 0; i < names.size(); ++i) row.bind(i).bind(std::string_view(names.at(NameId(i)))).run();
}

void Writer::write_kernels() {
  if (!has(DeviceWorkKind::kKernel)) return;
  Statement row = rows_of(ActivityTable::kKernel, 28);
  for (const DeviceWork& work : recording_.work) {
    if (work.kind != DeviceWorkKind::kKernel) continue;
    const LaunchShape shape = work.shape == kNoShape ? LaunchShape{} : recording_.shapes[work.shape];
    row.bind(work.start.count).bind(work.end.count).bind(work.on.device).bind(work.on.context).bind(std::int64_t{0});
    row.bind(work.on.stream).bind(number(work.correlation)).bind(global_process(work.on.process));
    row.bind(work.name.index).bind(short_names_[work.name.index] - 1).bind(work.name.index);
    row.bind(std::int64_t{0}).bind(std::int64_t{0}).bind(std::int64_t{shape.registers});
    for (const std::int32_t size : shape.grid) row.bind(std::int64_t{size});
    for (const std::int32_t size : shape.block) row.bind(std::int64_t{size});
    row.bind(std::int64_t{shape.static_shared}).bind(std::int64_t{shape.dynamic_shared}).bind(shape.local);
    row.bind(std::int64_t{0})
        .bind(std::int64_t{0})
        .bind(std::int64_t{0})
        .bind(number(work.graph_node))
        .bind(std::int64_t{0})
        .run();
  }
}

void Writer::write_copies() {
  if (!has(DeviceWorkKind::kCopy)) return;
  make(ActivityTable::kMemcpyOperations);
  make(ActivityTable::kMemoryKinds);
  make(ActivityTable::kMemcpy);
  Statement row(database_, R"(INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(start, "end", deviceId, contextId, greenContextId, streamId,
correlationId, globalPid, bytes, copyKind, srcKind, dstKind, graphNodeId) VALUES (?,?,?,?,0,?,?,?,?,?,?,?,?))");
  for (const DeviceWork& work : recording_.work) {
    if (work.kind != DeviceWorkKind::kCopy) continue;
    row.bind(work.start.count).bind(work.end.count).bind(work.on.device).bind(work.on.context).bind(work.on.stream);
    row.bind(number(work.correlation)).bind(global_process(work.on.process)).bind(work.bytes);
    row.bind(std::int64_t{work.copy_kind}).bind(std::int64_t{work.source_kind}).bind(std::int64_t{work.target_kind});
    row.bind(number(work.graph_node)).run();
  }
}

void Writer::write_fills() {
  if (!has(DeviceWorkKind::kFill)) return;
  Statement row = rows_of(ActivityTable::kMemset, 12);
  for (const DeviceWork& work : recording_.work) {
    if (work.kind != DeviceWorkKind::kFill) continue;
    row.bind(work.start.count).bind(work.end.count).bind(work.on.device).bind(work.on.context).bind(std::int64_t{0});
    row.bind(work.on.stream).bind(number(work.correlation)).bind(global_process(work.on.process)).bind(std::int64_t{0});
    row.bind(work.bytes).bind(number(work.graph_node)).bind(std::int64_t{work.target_kind}).run();
  }
}

void Writer::write_calls() {
  if (recording_.calls.empty()) return;
  Statement row = rows_of(ActivityTable::kRuntime, 8);
  for (const HostCall& call : recording_.calls) {
    const RecordedThread& thread = recording_.threads[call.thread];
    row.bind(call.start.count).bind(call.end.count).bind(std::int64_t{0}).bind(global_thread(thread.process, thread.thread));
    row.bind(number(call.correlation)).bind(call.name.index).bind(std::int64_t{call.result}).bind(std::int64_t{0}).run();
  }
}

void Writer::write_waits() {
  if (recording_.waits.empty()) return;
  make(ActivityTable::kSyncTypes);
  Statement row = rows_of(ActivityTable::kSynchronization, 10);
  for (const DeviceWait& wait : recording_.waits) {
    row.bind(wait.start.count).bind(wait.end.count).bind(wait.on.device).bind(wait.on.context).bind(std::int64_t{0});
    row.bind(wait.on.stream).bind(number(wait.correlation)).bind(global_process(wait.on.process));
    row.bind(std::int64_t{static_cast<std::uint8_t>(wait.kind)}).bind(wait.event).run();
  }
}

/// Which recording of an event each wait waited for: Nsight's table of waits has no place for it.
void Writer::write_event_waits() {
  const auto knows = [](const DeviceWait& wait) {
    return wait.correlation != 0 && (wait.event_correlation != 0 || wait.event_stream >= 0);
  };
  if (std::none_of(recording_.waits.begin(), recording_.waits.end(), knows)) return;
  Statement row = rows_of(ActivityTable::kEventWaits, 4);
  for (const DeviceWait& wait : recording_.waits) {
    if (!knows(wait)) continue;
    row.bind(number(wait.correlation))
        .bind(global_process(wait.on.process))
        .bind(number(wait.event_correlation))
        .bind(wait.event_stream)
        .run();
  }
}

void Writer::write_allocations() {
  if (recording_.allocations.empty()) return;
  make(ActivityTable::kMemoryUsage);
  // A framework's totals stand where the driver tells those of its own pools.
  Statement row(database_, R"(INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, contextId, address, pc, bytes,
memKind, memoryOperationType, name, localMemoryPoolSize, localMemoryPoolUtilizedSize)
VALUES (?,?,?,0,?,0,?,?,?,nullif(?,''),nullif(?,-1),nullif(?,-1)))");
  for (const AllocationEvent& event : recording_.allocations) {
    row.bind(event.time.count).bind(global_process(event.process)).bind(event.device).bind(number(event.address));
    row.bind(std::abs(event.bytes)).bind(std::int64_t{event.memory_kind}).bind(std::int64_t{event.bytes < 0 ? 1 : 0});
    row.bind(std::string_view(event.of_framework ? "framework" : "")).bind(event.reserved).bind(event.allocated).run();
  }
}

void Writer::write_ranges() {
  if (recording_.ranges.empty()) return;
  make(ActivityTable::kNvtxTypes);
  make(ActivityTable::kNvtx);
  Statement row(database_,
                R"(INSERT INTO NVTX_EVENTS(start, "end", eventType, globalTid, textId, domainId) VALUES (?,?,?,?,?,?))");
  for (const MarkedRange& range : recording_.ranges) {
    const RecordedThread& thread = recording_.threads[range.thread];
    row.bind(range.start.count).bind(range.end.count).bind(kPushPopRange).bind(global_thread(thread.process, thread.thread));
    row.bind(range.name.index).bind(range.kind == RangeKind::kOperator ? kFrameworkDomain : std::int64_t{0}).run();
  }
}

void Writer::write_devices() {
  if (recording_.devices.empty()) return;
  make(ActivityTable::kGpuInfo);
  Statement row(database_,
                R"(INSERT INTO TARGET_INFO_GPU(vmId, id, name, totalMemory, smCount, cuDevice, computeMajor, computeMinor)
VALUES (0,?,?,?,?,?,?,?))");
  for (const RecordedDevice& device : recording_.devices) {
    row.bind(device.device).bind(std::string_view(device.name)).bind(device.memory.count);
    row.bind(std::int64_t{device.multiprocessors}).bind(device.device);
    row.bind(std::int64_t{device.compute_major}).bind(std::int64_t{device.compute_minor}).run();
  }
}

void Writer::write_streams() {
  if (recording_.work.empty()) return;
  std::set<DeviceStream> streams;
  for (const DeviceWork& work : recording_.work) streams.insert(work.on);
  Statement row = rows_of(ActivityTable::kStreamInfo, 7);
  for (const DeviceStream& on : streams) {
    row.bind(on.stream).bind(on.device).bind(std::int64_t{0}).bind(std::int64_t{on.process}).bind(on.context);
    row.bind(std::int64_t{0}).bind(std::int64_t{0}).run();
  }
}

void Writer::write_session() {
  make(ActivityTable::kSessionStart);
  Statement start(database_,
                  R"(INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, strftime('%Y-%m-%d %H:%M:%S', ? / 1000000000,
'unixepoch'), strftime('%Y-%m-%d %H:%M:%S', ? / 1000000000, 'unixepoch', 'localtime')))");
  start.bind(recording_.epoch).bind(recording_.epoch).bind(recording_.epoch).run();
  const auto [first, last] = span_of(recording_);
  rows_of(ActivityTable::kAnalysisDetails, 4)
      .bind(std::int64_t{0})
      .bind((last - first).count)
      .bind(first.count)
      .bind(last.count)
      .run();
  Statement meta = rows_of(ActivityTable::kExportMeta, 2);
  meta.bind(std::string_view("EXPORT_SCHEMA_VERSION")).bind(std::string_view(kExportVersion)).run();
  meta.bind(std::string_view("EXPORT_PRODUCT")).bind(std::string_view("plimsoll")).run();
  meta.bind(std::string_view("SOURCE")).bind(std::string_view(recording_.source)).run();
}

void Writer::write_threads() {
  if (std::all_of(thread_names_.begin(), thread_names_.end(), [](std::int64_t id) { return id < 0; })) return;
  Statement row = rows_of(ActivityTable::kThreadNames, 3);
  for (std::size_t i = 0; i < thread_names_.size(); ++i) {
    const RecordedThread& thread = recording_.threads[i];
    if (thread_names_[i] < 0) continue;
    row.bind(thread_names_[i]).bind(std::int64_t{0}).bind(global_thread(thread.process, thread.thread)).run();
  }
}

void Writer::write_ours() {
  if (!recording_.instructions.empty()) {
    Statement row = rows_of(ActivityTable::kInstructions, 4);
    for (const InstructionLink& link : recording_.instructions)
      row.bind(number(link.correlation)).bind(global_process(link.process)).bind(link.step).bind(link.instruction).run();
  }
  if (!recording_.losses.empty()) {
    Statement row = rows_of(ActivityTable::kLosses, 2);
    for (const RecordingLoss& loss : recording_.losses) row.bind(std::string_view(loss.what)).bind(number(loss.count)).run();
  }
  if (!recording_.readings.empty()) {
    Statement row = rows_of(ActivityTable::kReadings, 4);
    for (const MemoryReading& reading : recording_.readings)
      row.bind(reading.time.count).bind(reading.device).bind(reading.free.count).bind(reading.total.count).run();
  }
}

}  // namespace

Result<void> add_recording(const std::string& run_file, const Recording& recording) {
  Database database(run_file, Database::Mode::kCreate);
  if (auto known = check_version(database); !known) return fail(known.error());
  if (database.integer("SELECT count(*) FROM sqlite_master WHERE name = 'StringIds'") > 0) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "the file holds a recording of device activity already",
                 .where = run_file,
                 .remedy = "name a new file"});
  }
  database.run("BEGIN IMMEDIATE");
  Writer(database, recording).write();
  database.run("COMMIT");
  return {};
}

}  // namespace plimsoll
