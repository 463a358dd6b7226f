#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/commands/write_recording.h"
#include "cli/inputs/operator_file.h"
#include "cli/print/output_file.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answer_error.h"
#include "formats/traces/read_operators.h"
#include "formats/traces/read_recording.h"

namespace plimsoll {
namespace {

struct ImportFlags {
  std::string file;
  std::string output;
  bool force = false;
  bool json = false;
};

/// "train" of "traces/train.json.gz", as a run file in the current folder.
std::string default_output(const std::string& file) {
  std::string name = std::filesystem::path(file).filename().string();
  for (const std::string_view ending : {".gz", ".json", ".sqlite", ".pt.trace", ".trace", ".et", ".pickle"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name + ".plimsoll";
}

std::string machine_of(const Recording& recording) {
  return recording.devices.empty() ? "unknown (the trace does not tell)" : recording.devices.front().name;
}

/// An execution trace has dependencies and no times: with durations it is replayed, without them there is nothing for a run file.
Result<ExitCode> import_operators(const ImportFlags& flags, const std::string& output) {
  const WaitingLine waiting("reading the trace");
  const auto trace = read_operators(flags.file);
  if (!trace) return fail(trace.error());
  if (!trace->timed()) {
    if (!flags.output.empty()) {
      Error untimed = schedule_operators(*trace).error();
      untimed.where = flags.file;
      return fail(untimed);
    }
    fmt::print("{}", flags.json ? operators_json(*trace, nullptr) : operators_text(*trace, nullptr));
    fmt::print(stderr, "plimsoll: the trace tells no durations: no run file was written\n");
    return ExitCode::kDone;
  }
  auto schedule = schedule_operators(*trace);
  if (!schedule) {
    schedule.error().where = flags.file;
    return fail(schedule.error());
  }
  const Recording recording = recording_of(*trace, *schedule);
  const RunMeta meta = meta_of_recording("import", "plimsoll import " + flags.file, machine_of(recording));
  const std::string note = fmt::format("imported from {}: when things happened is a replay of its dependencies", flags.file);
  if (const auto written = write_recording(output, meta, recording, {note}); !written) return fail(written.error());
  fmt::print("{}", flags.json ? operators_json(*trace, &*schedule) : operators_text(*trace, &*schedule));
  for (const RecordingLoss& loss : recording.losses) fmt::print(stderr, "plimsoll: left out: {} {}\n", loss.count, loss.what);
  fmt::print(stderr, "plimsoll: wrote {}\n", output);
  return ExitCode::kDone;
}

Result<ExitCode> import_trace(const ImportFlags& flags) {
  const std::string output = flags.output.empty() ? default_output(flags.file) : flags.output;
  if (const auto usable = check_replaceable(output, FileKind::kRunFile); !usable) return fail(usable.error());
  if (std::filesystem::exists(output) && !flags.force) {
    return fail({.kind = ErrorKind::kInput, .what = "the file exists already", .where = output,
                 .remedy = "choose another name with -o, or replace it with --force"});
  }
  if (holds_operators(flags.file)) return import_operators(flags, output);
  const WaitingLine waiting("reading the trace");
  const auto recording = read_recording(flags.file);
  if (!recording) return fail(recording.error());
  const RunMeta meta = meta_of_recording("import", "plimsoll import " + flags.file, machine_of(*recording));
  const auto written = write_recording(output, meta, *recording, {fmt::format("imported from {}", flags.file)});
  if (!written) return fail(written.error());
  fmt::print("{}", flags.json ? recording_json(*recording) : recording_text(*recording));
  for (const RecordingLoss& loss : recording->losses) fmt::print(stderr, "plimsoll: left out: {} {}\n", loss.count, loss.what);
  fmt::print(stderr, "plimsoll: wrote {}\n", output);
  return ExitCode::kDone;
}

}  // namespace

void add_import(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* command = app.add_subcommand("import", "Read a trace of another profiler into a run file");
  command->footer(
      "FILE is a Chrome or Kineto trace (.json, .json.gz), an SQLite export of Nsight Systems (nsys export --type sqlite), a memory\n"
      "snapshot of PyTorch (.pickle), a Chakra trace (.et, .json) or an execution trace of PyTorch (.json).\n"
      "Example: plimsoll import trace.json.gz -o run.plimsoll");
  command->add_option("FILE", flags->file, "the trace")->required();
  command->add_option("-o,--output", flags->output, "the run file (default: the trace's name in this folder)");
  command->add_flag("--force", flags->force, "replace an existing run file");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, command, &code] {
    const auto ended = import_trace(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
