#include <fmt/format.h>

#include <set>
#include <sstream>

#include "cli/commands/write_recording.h"
#include "cli/options/export_flags.h"
#include "cli/print/output_file.h"
#include "formats/plans/plan_json.h"
#include "formats/runs/chrome_trace.h"
#include "formats/runs/perfetto_trace.h"
#include "formats/runs/recording_chrome.h"
#include "formats/runs/run_file.h"
#include "formats/runs/trace_csv.h"
#include "formats/runs/trace_recording.h"
#include "formats/text/write_text_file.h"
#include "formats/traces/read_recording.h"
#include "session/open_run_file.h"

namespace plimsoll {
namespace {

/// Traces of one plan in a run file.
struct ShownTraces {
  const Plan* plan = nullptr;
  std::vector<const NamedTrace*> traces;
};

Result<ShownTraces> shown_traces(const RunFile& run, const std::string& path) {
  // A plan that was never run has its prediction alone.
  const NamedTrace* last = run.last_trace();
  const NamedTrace* shown = last == nullptr && !run.traces.empty() ? &run.traces.front() : last;
  ShownTraces found{.plan = shown == nullptr ? nullptr : run.plan(shown->trace.plan_digest)};
  if (found.plan == nullptr) {
    return fail(
        {.kind = ErrorKind::kInput,
         .what = "the run file has no run in it",
         .where = path,
         .remedy = "what another profiler recorded stands in it as Nsight's tables: plimsoll replay reads them"});
  }
  for (const NamedTrace& trace : run.traces) {
    if (trace.trace.plan_digest == shown->trace.plan_digest) found.traces.push_back(&trace);
  }
  return found;
}

Result<void> check_outputs(const ExportFlags& flags) {
  const std::pair<const std::string&, FileKind> outputs[] = {{flags.chrome, FileKind::kJson},
                                                             {flags.plan, FileKind::kJson},
                                                             {flags.perfetto, FileKind::kPerfetto},
                                                             {flags.csv, FileKind::kTraceCsv},
                                                             {flags.nsight, FileKind::kRunFile}};
  std::set<std::string> taken;
  for (const auto& [path, kind] : outputs) {
    if (path.empty()) continue;
    if (!taken.insert(path).second) {
      return fail({.kind = ErrorKind::kInput, .what = "two files would have this name", .where = path, .remedy = "name each by itself"});
    }
    if (const auto usable = check_replaceable(path, kind); !usable) return usable;
    if (path == flags.asked.model) {
      return fail({.kind = ErrorKind::kInput,
                   .what = "this is the run itself",
                   .where = path,
                   .remedy = "choose another name"});
    }
  }
  return {};
}

Result<void> write_nsight(const std::string& path, const ShownTraces& shown) {
  const Recording recording = recording_of_traces(*shown.plan, shown.traces);
  remove_run_file(path);
  const RunMeta meta = meta_of_recording("export", "plimsoll export --nsight " + path, shown.plan->platform.name);
  return write_recording(path, meta, recording,
                         {"made of the plan's traces: work is issued beforehand and in order, which takes no time"});
}

template <typename Writer>
void write(const std::string& path, Writer&& writer, std::string_view hint) {
  if (path.empty()) return;
  std::ostringstream text;
  writer(text);
  write_text_file(path, text.str());
  fmt::print(stderr, "plimsoll: wrote {}; {}\n", path, hint);
}

/// A run file into which import or profile put what a profiler saw.
Result<ExitCode> export_recording(const ExportFlags& flags) {
  const std::pair<const char*, const std::string&> of_plans[] = {
      {"--plan", flags.plan}, {"--perfetto", flags.perfetto}, {"--nsight", flags.nsight}};
  for (const auto& [option, path] : of_plans) {
    if (path.empty()) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("{} is of a plan that ran, and this holds what a profiler recorded", option),
                 .where = flags.asked.model,
                 .remedy = "--chrome writes it for chrome://tracing and Perfetto, --csv as a table"});
  }
  const auto recording = read_recording(flags.asked.model);
  if (!recording) return fail(recording.error());
  write(
      flags.chrome, [&](std::ostream& out) { write_recording_chrome(out, *recording); },
      "open it in chrome://tracing or ui.perfetto.dev");
  write(
      flags.csv, [&](std::ostream& out) { write_recording_csv(out, *recording); }, "times are nanoseconds");
  return ExitCode::kDone;
}

}  // namespace

Result<ExitCode> export_run(const ExportFlags& flags) {
  if (const auto alone = check_export_alone(flags); !alone) return fail(alone.error());
  if (const auto usable = check_outputs(flags); !usable) return fail(usable.error());
  const auto run = read_run_file(flags.asked.model);
  if (!run) return fail(run.error());
  if (run->plans.empty()) return export_recording(flags);
  const auto shown = shown_traces(*run, flags.asked.model);
  if (!shown) return fail(shown.error());
  if (!flags.plan.empty()) write_text_file(flags.plan, write_plan(*shown->plan));
  write(
      flags.chrome, [&](std::ostream& out) { write_chrome_trace(out, *shown->plan, shown->traces, run->memory); },
      "open it in chrome://tracing or ui.perfetto.dev");
  write(
      flags.perfetto, [&](std::ostream& out) { write_perfetto_trace(out, *shown->plan, shown->traces, run->memory); },
      "open it in ui.perfetto.dev");
  write(
      flags.csv, [&](std::ostream& out) { write_trace_csv(out, *shown->plan, shown->traces); },
      "times are nanoseconds");
  if (flags.nsight.empty()) return ExitCode::kDone;
  if (const auto written = write_nsight(flags.nsight, *shown); !written) return fail(written.error());
  fmt::print(
      stderr,
      "plimsoll: wrote {}, whose tables are those of Nsight Systems; plimsoll import, replay and SQLite open it\n",
      flags.nsight);
  return ExitCode::kDone;
}

}  // namespace plimsoll
