#include "formats/traces/nsight_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>

namespace plimsoll {
namespace {

constexpr std::int64_t kProcessShift = 24;
constexpr std::int64_t kProcessMask = 0xffffff;
constexpr std::int64_t kFrameworkDomain = 1;
/// Fits a sum of two without overflow; 73 years of nanoseconds.
constexpr std::int64_t kLatest = std::int64_t{1} << 61;

std::uint32_t process_of(std::int64_t global) { return static_cast<std::uint32_t>((global >> kProcessShift) & kProcessMask); }

/// Numbers of devices, contexts and the like; what does not fit is cut to what does.
std::uint32_t small(std::int64_t value) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<std::int32_t>::max()));
}

std::int32_t small_signed(std::int64_t value) { return static_cast<std::int32_t>(small(value)); }

std::uint8_t byte_of(std::int64_t value) { return static_cast<std::uint8_t>(std::clamp<std::int64_t>(value, 0, 255)); }

}  // namespace

TableColumns NsightReader::columns(const char* table, std::initializer_list<const char*> needed) {
  TableColumns found(database_, table);
  const std::string missing = found.exists() ? found.missing({needed.begin(), needed.end()}) : std::string();
  if (missing.empty()) return found;
  throw EnvironmentError({.kind = ErrorKind::kInput,
                          .what = fmt::format("table {} has no column {}", table, missing),
                          .where = database_.path(),
                          .remedy = "export the report again: nsys export --type sqlite"});
}

Statement NsightReader::query(const TableColumns& table, std::initializer_list<std::string> expressions) {
  std::string list;
  for (const std::string& expression : expressions) list += (list.empty() ? "" : ", ") + expression;
  return Statement(database_, fmt::format("SELECT {} FROM {}", list, table.table()));
}

void NsightReader::read_stretch(const Statement& row, int at, Nanoseconds& start, Nanoseconds& end) {
  if (row.is_no_number(at) || row.is_no_number(at + 1)) {
    throw EnvironmentError({.kind = ErrorKind::kInput,
                            .what = fmt::format("a row from '{}' to '{}' has no numbers for its times", row.text(at).substr(0, 40),
                                                row.text(at + 1).substr(0, 40)),
                            .where = database_.path(),
                            .remedy = "the file is damaged; export it again"});
  }
  start = Nanoseconds(row.integer(at));
  end = Nanoseconds(row.integer(at + 1));
  const bool sane = start.count > -kLatest && end.count < kLatest;
  if (sane && start <= end) return;
  if (sane && start.count >= 0) {
    recording_.lose("ends of rows that ended before they started");
    end = start;
    return;
  }
  throw EnvironmentError({.kind = ErrorKind::kInput,
                          .what = fmt::format("a row from {} to {} nanoseconds is not from a profiler", start.count, end.count),
                          .where = database_.path(),
                          .remedy = "the file is damaged; export it again"});
}

NameId NsightReader::name_of(std::int64_t id) {
  const auto known = names_.find(id);
  return known != names_.end() ? known->second : recording_.names.add(fmt::format("(string {})", id));
}

std::uint32_t NsightReader::thread_of(std::int64_t global) {
  const auto [known, is_new] = threads_.try_emplace(global, static_cast<std::uint32_t>(recording_.threads.size()));
  if (is_new) recording_.threads.push_back({.process = process_of(global), .thread = global & kProcessMask, .name = {}});
  return known->second;
}

void NsightReader::read_meta() {
  recording_.source = "Nsight Systems export";
  const TableColumns meta = columns("META_DATA_EXPORT", {"name", "value"});
  if (meta.exists()) {
    Statement row = query(meta, {"name", "value"});
    while (row.step()) {
      if (row.text(0) == "SOURCE") recording_.source = row.text(1);
      if (row.text(0) == "EXPORT_SCHEMA_VERSION" && recording_.source == "Nsight Systems export")
        recording_.source += fmt::format(" (schema {})", row.text(1));
    }
  }
  const TableColumns start = columns("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"});
  if (!start.exists()) return;
  Statement row = query(start, {"utcEpochNs"});
  if (row.step()) recording_.epoch = row.integer(0);
}

void NsightReader::read_names() {
  const TableColumns table = columns("StringIds", {"id", "value"});
  if (!table.exists()) return;
  Statement row = query(table, {"id", "value"});
  while (row.step()) names_[row.integer(0)] = recording_.names.add(row.text(1));
}

void NsightReader::read_devices() {
  const TableColumns table = columns("TARGET_INFO_GPU", {"id"});
  if (!table.exists()) return;
  Statement row =
      query(table, {table.or_else("cuDevice", "id"), table.or_else("name", "''"), table.or_else("totalMemory", "0"),
                    table.or_else("computeMajor", "0"), table.or_else("computeMinor", "0"), table.or_else("smCount", "0")});
  while (row.step()) {
    recording_.devices.push_back({.device = small(row.integer(0)),
                                  .name = row.text(1),
                                  .memory = Bytes(std::max<std::int64_t>(0, row.integer(2))),
                                  .compute_major = small_signed(row.integer(3)),
                                  .compute_minor = small_signed(row.integer(4)),
                                  .multiprocessors = small_signed(row.integer(5))});
  }
}

void NsightReader::read_thread_names() {
  const TableColumns table = columns("ThreadNames", {"nameId", "globalTid"});
  if (!table.exists()) return;
  Statement row = query(table, {"nameId", "globalTid"});
  while (row.step()) recording_.threads[thread_of(row.integer(1))].name = recording_.names.at(name_of(row.integer(0)));
}

void NsightReader::read_kernels() {
  const TableColumns t = columns("CUPTI_ACTIVITY_KIND_KERNEL", {"start", "end", "streamId"});
  if (!t.exists()) return;
  const std::string name = t.or_else("demangledName", t.or_else("shortName", "-1"));
  Statement row =
      query(t, {"start", "\"end\"", t.or_else("deviceId", "0"), t.or_else("contextId", "0"), "streamId",
                t.or_else("correlationId", "0"), t.or_else("globalPid", "0"), name, t.or_else("registersPerThread", "0"),
                t.or_else("gridX", "1"), t.or_else("gridY", "1"), t.or_else("gridZ", "1"), t.or_else("blockX", "1"),
                t.or_else("blockY", "1"), t.or_else("blockZ", "1"), t.or_else("staticSharedMemory", "0"),
                t.or_else("dynamicSharedMemory", "0"), t.or_else("localMemoryPerThread", "0"), t.or_else("graphNodeId", "0")});
  while (row.step()) {
    DeviceWork work{.correlation = static_cast<std::uint64_t>(row.integer(5)),
                    .on = {process_of(row.integer(6)), small(row.integer(2)), small(row.integer(3)), row.integer(4)},
                    .name = name_of(row.integer(7)),
                    .shape = static_cast<std::uint32_t>(recording_.shapes.size()),
                    .graph_node = static_cast<std::uint64_t>(row.integer(18)),
                    .kind = DeviceWorkKind::kKernel};
    read_stretch(row, 0, work.start, work.end);
    LaunchShape shape{.registers = small_signed(row.integer(8)),
                      .static_shared = small_signed(row.integer(15)),
                      .dynamic_shared = small_signed(row.integer(16)),
                      .local = row.integer(17)};
    for (int i = 0; i < 3; ++i) {
      shape.grid[static_cast<std::size_t>(i)] = small_signed(row.integer(9 + i));
      shape.block[static_cast<std::size_t>(i)] = small_signed(row.integer(12 + i));
    }
    recording_.work.push_back(work);
    recording_.shapes.push_back(shape);
  }
}

void NsightReader::read_copies() {
  const TableColumns t = columns("CUPTI_ACTIVITY_KIND_MEMCPY", {"start", "end", "streamId", "bytes"});
  if (!t.exists()) return;
  Statement row = query(t, {"start", "\"end\"", t.or_else("deviceId", "0"), t.or_else("contextId", "0"), "streamId",
                            t.or_else("correlationId", "0"), t.or_else("globalPid", "0"), "bytes", t.or_else("copyKind", "0"),
                            t.or_else("srcKind", "7"), t.or_else("dstKind", "7"), t.or_else("graphNodeId", "0")});
  while (row.step()) {
    DeviceWork work{.correlation = static_cast<std::uint64_t>(row.integer(5)),
                    .bytes = std::max<std::int64_t>(0, row.integer(7)),
                    .on = {process_of(row.integer(6)), small(row.integer(2)), small(row.integer(3)), row.integer(4)},
                    .graph_node = static_cast<std::uint64_t>(row.integer(11)),
                    .kind = DeviceWorkKind::kCopy,
                    .copy_kind = byte_of(row.integer(8)),
                    .source_kind = byte_of(row.integer(9)),
                    .target_kind = byte_of(row.integer(10))};
    read_stretch(row, 0, work.start, work.end);
    work.name = recording_.names.add(fmt::format("Memcpy {}", copy_kind_text(work.copy_kind)));
    recording_.work.push_back(work);
  }
}

void NsightReader::read_fills() {
  const TableColumns t = columns("CUPTI_ACTIVITY_KIND_MEMSET", {"start", "end", "streamId", "bytes"});
  if (!t.exists()) return;
  Statement row = query(t, {"start", "\"end\"", t.or_else("deviceId", "0"), t.or_else("contextId", "0"), "streamId",
                            t.or_else("correlationId", "0"), t.or_else("globalPid", "0"), "bytes", t.or_else("memKind", "7"),
                            t.or_else("graphNodeId", "0")});
  const NameId name = recording_.names.add("Memset");
  while (row.step()) {
    DeviceWork work{.correlation = static_cast<std::uint64_t>(row.integer(5)),
                    .bytes = std::max<std::int64_t>(0, row.integer(7)),
                    .on = {process_of(row.integer(6)), small(row.integer(2)), small(row.integer(3)), row.integer(4)},
                    .name = name,
                    .graph_node = static_cast<std::uint64_t>(row.integer(9)),
                    .kind = DeviceWorkKind::kFill,
                    .target_kind = byte_of(row.integer(8))};
    read_stretch(row, 0, work.start, work.end);
    recording_.work.push_back(work);
  }
}

void NsightReader::read_calls() {
  for (const char* name : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"}) {
    const TableColumns t = columns(name, {"start", "end"});
    if (!t.exists()) continue;
    Statement row = query(t, {"start", "\"end\"", t.or_else("globalTid", "0"), t.or_else("correlationId", "0"),
                              t.or_else("nameId", "-1"), t.or_else("returnValue", "0")});
    while (row.step()) {
      HostCall call{.correlation = static_cast<std::uint64_t>(row.integer(3)),
                    .name = name_of(row.integer(4)),
                    .thread = thread_of(row.integer(2)),
                    .result = small_signed(row.integer(5))};
      read_stretch(row, 0, call.start, call.end);
      recording_.calls.push_back(call);
    }
  }
}

void NsightReader::read_waits() {
  const TableColumns t = columns("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {"start", "end", "syncType"});
  if (!t.exists()) return;
  Statement row =
      query(t, {"start", "\"end\"", t.or_else("deviceId", "0"), t.or_else("contextId", "0"), t.or_else("streamId", "0"),
                t.or_else("correlationId", "0"), t.or_else("globalPid", "0"), "syncType", t.or_else("eventId", "0")});
  while (row.step()) {
    const std::int64_t kind = row.integer(7);
    DeviceWait wait{.correlation = static_cast<std::uint64_t>(row.integer(5)),
                    .on = {process_of(row.integer(6)), small(row.integer(2)), small(row.integer(3)), row.integer(4)},
                    .event = row.integer(8),
                    .kind = kind >= 1 && kind <= 4 ? static_cast<WaitKind>(kind) : WaitKind::kUnknown};
    read_stretch(row, 0, wait.start, wait.end);
    recording_.waits.push_back(wait);
  }
}

/// What a run file says of waits for events.
void NsightReader::read_event_waits() {
  const TableColumns t = columns("activity_event_waits", {"correlationId", "globalPid", "recordCorrelationId", "recordStreamId"});
  if (!t.exists()) return join_events();
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::pair<std::uint64_t, std::int64_t>> known;
  Statement row = query(t, {"correlationId", "globalPid", "recordCorrelationId", "recordStreamId"});
  while (row.step()) {
    known[{process_of(row.integer(1)), static_cast<std::uint64_t>(row.integer(0))}] = {static_cast<std::uint64_t>(row.integer(2)),
                                                                                       row.integer(3)};
  }
  for (DeviceWait& wait : recording_.waits) {
    const auto found = known.find({wait.on.process, wait.correlation});
    if (found != known.end()) std::tie(wait.event_correlation, wait.event_stream) = found->second;
  }
}

/// Newer exports list where events were recorded: a wait means the last recording of its event before it.
void NsightReader::join_events() {
  const TableColumns t = columns("CUPTI_ACTIVITY_KIND_CUDA_EVENT", {"correlationId", "eventId", "streamId"});
  if (!t.exists()) return;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::map<std::uint64_t, std::int64_t>>
      streams;  // by event: correlation, stream
  Statement row = query(t, {"correlationId", "eventId", "streamId", t.or_else("globalPid", "0")});
  while (row.step())
    streams[{process_of(row.integer(3)), row.integer(1)}][static_cast<std::uint64_t>(row.integer(0))] = row.integer(2);
  for (DeviceWait& wait : recording_.waits) {
    const auto event = streams.find({wait.on.process, wait.event});
    if (event == streams.end() || wait.correlation == 0) continue;
    const auto after = event->second.lower_bound(wait.correlation);
    if (after == event->second.begin()) continue;
    std::tie(wait.event_correlation, wait.event_stream) = *std::prev(after);
  }
}

void NsightReader::read_allocations() {
  const TableColumns t = columns("CUDA_GPU_MEMORY_USAGE_EVENTS", {"start", "bytes", "memoryOperationType"});
  if (!t.exists()) return;
  Statement row = query(t, {"start", t.or_else("globalPid", "0"), t.or_else("deviceId", "0"), t.or_else("address", "0"), "bytes",
                            t.or_else("memKind", "2"), "memoryOperationType", t.or_else("name", "NULL"),
                            t.has("localMemoryPoolSize") ? "ifnull(localMemoryPoolSize, -1)" : "-1",
                            t.has("localMemoryPoolUtilizedSize") ? "ifnull(localMemoryPoolUtilizedSize, -1)" : "-1"});
  while (row.step()) {
    const std::int64_t bytes = std::max<std::int64_t>(0, row.integer(4));
    recording_.allocations.push_back({.time = Nanoseconds(row.integer(0)),
                                      .address = static_cast<std::uint64_t>(row.integer(3)),
                                      .bytes = row.integer(6) == 1 ? -bytes : bytes,
                                      .allocated = row.integer(9),
                                      .reserved = row.integer(8),
                                      .process = process_of(row.integer(1)),
                                      .device = small(row.integer(2)),
                                      .memory_kind = byte_of(row.integer(5)),
                                      .of_framework = row.text(7) == "framework"});
  }
}

void NsightReader::read_ranges() {
  const TableColumns t = columns("NVTX_EVENTS", {"start"});
  if (!t.exists() || !t.has("end")) return;
  Statement row =
      query(t, {"start", "\"end\"", t.or_else("globalTid", "0"), t.or_else("textId", "NULL"), t.or_else("text", "NULL"),
                t.or_else("domainId", "0"), "\"end\" IS NULL", t.has("textId") ? "textId IS NULL" : "1"});
  while (row.step()) {
    if (row.integer(6) != 0) continue;  // a mark, or a category's or a domain's name
    MarkedRange range{.name = row.integer(7) == 0 ? name_of(row.integer(3)) : recording_.names.add(row.text(4)),
                      .thread = thread_of(row.integer(2)),
                      .kind = row.integer(5) == kFrameworkDomain && recording_.source.rfind("Nsight", 0) != 0
                                  ? RangeKind::kOperator
                                  : RangeKind::kAnnotation};
    read_stretch(row, 0, range.start, range.end);
    recording_.ranges.push_back(range);
  }
}

void NsightReader::read_ours() {
  if (const TableColumns t = columns("activity_instructions", {"correlationId", "globalPid", "step", "instruction"});
      t.exists()) {
    Statement row = query(t, {"correlationId", "globalPid", "step", "instruction"});
    while (row.step())
      recording_.instructions.push_back({.correlation = static_cast<std::uint64_t>(row.integer(0)),
                                         .process = process_of(row.integer(1)),
                                         .step = small(row.integer(2)),
                                         .instruction = small(row.integer(3))});
  }
  if (const TableColumns t = columns("activity_losses", {"what", "count"}); t.exists()) {
    Statement row = query(t, {"what", "count"});
    while (row.step()) recording_.lose(row.text(0), static_cast<std::uint64_t>(std::max<std::int64_t>(0, row.integer(1))));
  }
  if (const TableColumns t = columns("activity_readings", {"time", "deviceId", "freeBytes", "totalBytes"}); t.exists()) {
    Statement row = query(t, {"time", "deviceId", "freeBytes", "totalBytes"});
    while (row.step())
      recording_.readings.push_back({.time = Nanoseconds(row.integer(0)),
                                     .device = small(row.integer(1)),
                                     .free = Bytes(row.integer(2)),
                                     .total = Bytes(row.integer(3))});
  }
}

Recording NsightReader::read() {
  read_meta();
  read_names();
  read_devices();
  read_thread_names();
  read_kernels();
  read_copies();
  read_fills();
  read_calls();
  read_waits();
  read_event_waits();
  read_allocations();
  read_ranges();
  read_ours();
  recording_.sort();
  return std::move(recording_);
}

}  // namespace plimsoll
