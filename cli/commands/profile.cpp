#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/commands/write_recording.h"
#include "cli/print/output_file.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answer_error.h"
#include "profiler/cupti/activity_capture.h"
#include "profiler/decode/decode_spool.h"
#include "profiler/inject/profiled_program.h"
#include "profiler/probe/this_computer.h"
#include "session/open_run_file.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

struct ProfileFlags {
  std::vector<std::string> command;
  std::string output = "profile.plimsoll";
  std::string library;
  std::string cupti;
  bool force = false;
  bool json = false;
};

constexpr const char* kLibrary = "libplimsoll_inject.so";

tl::unexpected<Error> bad(ErrorKind kind, std::string what, std::string where, std::string remedy) {
  return fail({.kind = kind, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

/// The library beside this program, or where an installation puts it.
Result<std::string> find_library(const std::string& wanted) {
  if (!wanted.empty()) {
    if (fs::is_regular_file(wanted)) return fs::absolute(wanted).string();
    return bad(ErrorKind::kInput, "there is no such library", wanted, "leave --inject out, or name libplimsoll_inject.so");
  }
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& folder : {here, here.parent_path() / "lib", here.parent_path() / "lib" / "plimsoll"}) {
    if (fs::is_regular_file(folder / kLibrary)) return (folder / kLibrary).string();
  }
  return bad(ErrorKind::kEnvironment, fmt::format("{} is not beside this program", kLibrary), here.string(),
             "build it (ninja plimsoll_inject), or name it with --inject FILE");
}

/// A new folder beside the output, on the disk that has to hold both.
std::string make_spool_folder(const std::string& output) {
  std::string path = fs::absolute(output).string() + ".spools-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = "no folder for device records can be made",
                            .where = path,
                            .remedy = "choose another place with -o FILE"});
  }
  return path;
}

Result<void> check_output(const ProfileFlags& flags) {
  if (const auto usable = check_replaceable(flags.output, FileKind::kRunFile); !usable) return usable;
  if (flags.force || !fs::exists(flags.output)) return {};
  return bad(ErrorKind::kInput, "the file exists already", flags.output,
             "choose another name with -o, or replace it with --force");
}

std::string command_text(const std::vector<std::string>& command) {
  std::string text = "plimsoll profile --";
  for (const std::string& word : command) text += " " + word;
  return text;
}

/// Why there is nothing to show, and what would help.
Error nothing_captured(const ProfileFlags& flags, const ProfiledEnd& end) {
  Error error{.kind = ErrorKind::kInput, .what = {}, .where = flags.command.front(), .remedy = {}};
  if (!end.reasons.empty()) {
    error.kind = ErrorKind::kEnvironment;
    error.what = "the program used CUDA, and was not profiled";
    error.remedy = fmt::format("{}", fmt::join(end.reasons, "; "));
    return error;
  }
  const bool driver = fs::exists("/proc/driver/nvidia/version");
  error.what = "the program never started CUDA, so there is nothing to profile";
  error.remedy = driver ? "an NVIDIA driver is there: check that the program uses the GPU"
                        : "no NVIDIA driver is loaded on this computer: ask plimsoll doctor";
  return error;
}

/// The program's own exit code, or what a shell says of a signal.
ExitCode code_of(const ProfiledEnd& end) { return static_cast<ExitCode>(end.signal != 0 ? 128 + end.signal : end.code); }

/// What was left out on purpose, and what was lost.
void print_what_is_not_there(const DecodedSpools& decoded) {
  if (decoded.functions_left_out > 0) {
    fmt::print(stderr, "plimsoll: calls of {} functions of CUDA that only ask, as cudaGetDevice does, are not recorded\n",
               decoded.functions_left_out);
  }
  for (const RecordingLoss& loss : decoded.recording.losses)
    fmt::print(stderr, "plimsoll: {} {} are missing from the profile\n", loss.count, loss.what);
}

Result<ExitCode> profile(const CLI::App& command, const ProfileFlags& flags) {
  if (auto usable = check_output(flags); !usable) return fail(usable.error());
  const auto library = find_library(flags.library);
  if (!library) return fail(library.error());
  if (!capture_is_built_in())
    return bad(ErrorKind::kEnvironment, "device capture is " + capture_build_text(), {}, "build where CUDA's toolkit is");
  const std::string folder = make_spool_folder(flags.output);
  const auto end = run_profiled({.command = flags.command, .library = *library, .cupti = flags.cupti, .folder = folder});
  if (!end) fs::remove_all(folder);
  if (!end) return fail(end.error());
  if (end->spools.empty()) {
    fs::remove_all(folder);
    const Error error = nothing_captured(flags, *end);
    answer_error(command, error, code_of(*end));
    report_error(error);
    return code_of(*end);
  }
  const WaitingLine waiting("writing the run file");
  const auto decoded = decode_spools(end->spools);
  if (!decoded) return fail(decoded.error());
  if (flags.force) remove_run_file(flags.output);
  const RunMeta meta = meta_of_recording("profile", command_text(flags.command), probe_this_computer().cpu_model);
  if (auto written = write_recording(flags.output, meta, decoded->recording, decoded->notes); !written)
    return fail(written.error());
  fs::remove_all(folder);
  fmt::print(stderr, "{}", flags.json ? "" : recording_text(decoded->recording));
  if (flags.json) fmt::print("{}", recording_json(decoded->recording));
  print_what_is_not_there(*decoded);
  fmt::print(stderr, "plimsoll: wrote {}\n", flags.output);
  return code_of(*end);
}

}  // namespace

void add_profile(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<ProfileFlags>();
  CLI::App* command = app.add_subcommand("profile", "Run any CUDA program and record what its GPU does, in a run file");
  command->footer(
      "Example: plimsoll profile -o train.plimsoll -- python train.py\n"
      "         sqlite3 train.plimsoll 'SELECT value, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName "
      "GROUP BY 1'\n"
      "The exit code is the program's own.");
  command->add_option("-o,--output", flags->output, "the run file")->capture_default_str();
  command->add_flag("--force", flags->force, "replace an existing run file");
  command->add_option("--cupti", flags->cupti, "the libcupti.so to use (default: the program's own, else the system's)");
  command->add_option("--inject", flags->library, "the libplimsoll_inject.so to use (default: the one beside this program)");
  command->add_flag("--json", flags->json, "what was recorded, on standard output after the program's own");
  command->add_option("COMMAND", flags->command, "the program and its arguments, after --")->required();
  command->positionals_at_end();
  command->callback([flags, command, &code] {
    const auto ended = profile(*command, *flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
