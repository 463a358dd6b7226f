#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/waiting_line.h"
#include "cli/write_recording.h"
#include "formats/traces/read_recording.h"
#include "session/open_run_file.h"

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
  for (const std::string_view ending : {".gz", ".json", ".sqlite", ".pt.trace", ".trace"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name + ".plimsoll";
}

std::string machine_of(const Recording& recording) {
  return recording.devices.empty() ? "unknown (the trace does not tell)" : recording.devices.front().name;
}

Result<ExitCode> import_trace(const ImportFlags& flags) {
  const std::string output = flags.output.empty() ? default_output(flags.file) : flags.output;
  if (const auto usable = check_replaceable(output, FileKind::kRunFile); !usable) return fail(usable.error());
  if (std::filesystem::exists(output) && !flags.force) {
    return fail({.kind = ErrorKind::kInput, .what = "the file exists already", .where = output,
                 .remedy = "choose another name with -o, or replace it with --force"});
  }
  const WaitingLine waiting("reading the trace");
  const auto recording = read_recording(flags.file);
  if (!recording) return fail(recording.error());
  if (flags.force) remove_run_file(output);
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
      "FILE is a Chrome or Kineto trace (.json, .json.gz) or an SQLite export of Nsight Systems (nsys export --type sqlite).\n"
      "Example: plimsoll import trace.json.gz -o run.plimsoll");
  command->add_option("FILE", flags->file, "the trace")->required();
  command->add_option("-o,--output", flags->output, "the run file (default: the trace's name in this folder)");
  command->add_flag("--force", flags->force, "replace an existing run file");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, &code] {
    const auto ended = import_trace(*flags);
    code = ended ? *ended : report_error(ended.error());
  });
}

}  // namespace plimsoll
