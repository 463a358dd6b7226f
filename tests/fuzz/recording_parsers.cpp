// Readers of what is recorded: run files, traces of other profilers, spools of our own.

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <fstream>
#include <iterator>

#include "formats/runs/run_file.h"
#include "formats/runs/run_file_writer.h"
#include "formats/traces/read_recording.h"
#include "profiler/decode/spool_reader.h"
#include "sim/replay/replay.h"
#include "tests/fuzz/changed_database.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/parser.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {

void check_recording(const Recording& recording) {
  for (const DeviceWork& work : recording.work) {
    require(work.start <= work.end && work.name.index < recording.names.size(), "work has a time and a name");
    require(work.shape == kNoShape || work.shape < recording.shapes.size(), "a shape is one of the table");
  }
  for (const HostCall& call : recording.calls) {
    require(call.start <= call.end && call.thread < recording.threads.size(), "a call has a time and a thread");
  }
  static_cast<void>(replay(recording));
}

namespace {

void read_trace(std::string_view bytes) {
  const MemoryFile file(bytes);
  const auto recording = read_recording(file.path());
  if (has_value(recording)) check_recording(*recording);
}

void check_run(const std::string& path) {
  const auto run = read_run_file(path);
  if (!has_value(run)) return;
  for (const NamedTrace& named : run->traces) {
    for (const TraceEvent& event : named.trace.events)
      require(event.start <= event.end, "an event ends after it starts");
  }
  static_cast<void>(run->steps());
}

void read_run(std::string_view bytes) { check_run(MemoryFile(bytes).path()); }

/// An empty run file, as bytes.
std::string empty_run(const TemporaryFolder& folder) {
  const std::string path = folder.file("empty.plimsoll");
  RunFileWriter(path, {.kind = "run", .created = {}, .tool_version = {}, .command = {}, .machine = {}}).close();
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A run file in which somebody changed rows or tables: the bytes are SQL, carried out on an empty run file before it
/// is read.
void read_changed_run(std::string_view bytes) {
  static const TemporaryFolder folder;
  static const std::string empty = empty_run(folder);
  static const ChangedDatabase database;
  check_run(database.after(empty, bytes));
}

/// The records of one block: header and checksums are made sound around them, or hardly any would be reached.
void read_spooled(std::string_view bytes) {
  SpoolHeader header;
  header.checksum = XXH3_64bits(&header, offsetof(SpoolHeader, checksum));
  SpoolBlock block{.bytes = static_cast<std::uint32_t>(bytes.size())};
  block.checksum = XXH3_64bits_withSeed(bytes.data(), bytes.size(), block.number);
  const auto text_of = [](const auto& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  const MemoryFile file(text_of(header) + text_of(block) + std::string(bytes));
  std::uint64_t taken = 0;
  const auto summary = read_spool(file.path(), [&](const SpoolRecord&) { ++taken; });
  if (has_value(summary)) require(summary->records == taken, "a summary counts the records");
}

}  // namespace

std::vector<Parser> recording_parsers() {
  return {{"trace", read_trace}, {"run-file", read_run}, {"run-file-sql", read_changed_run}, {"spool", read_spooled}};
}

}  // namespace plimsoll::test
