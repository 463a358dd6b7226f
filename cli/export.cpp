#include <fmt/format.h>

#include <memory>
#include <sstream>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "formats/runs/chrome_trace.h"
#include "formats/plans/plan_json.h"
#include "formats/runs/run_file.h"
#include "formats/text/write_text_file.h"

namespace plimsoll {
namespace {

struct ExportFlags {
  std::string run;
  std::string chrome;
  std::string plan;
};

Result<ExitCode> export_file(const ExportFlags& flags) {
  for (const std::string& path : {flags.chrome, flags.plan}) {
    if (path.empty()) continue;
    if (const auto usable = check_replaceable(path, FileKind::kJson); !usable) return fail(usable.error());
  }
  const auto run = read_run_file(flags.run);
  if (!run) return fail(run.error());
  // A plan that was never run has its prediction alone.
  const NamedTrace* shown = run->last_trace() == nullptr && !run->traces.empty() ? &run->traces.front() : run->last_trace();
  const Plan* plan = shown == nullptr ? nullptr : run->plan(shown->trace.plan_digest);
  if (plan == nullptr)
    return fail({.kind = ErrorKind::kInput, .what = "the run file has no run in it", .where = flags.run});
  if (!flags.plan.empty()) write_text_file(flags.plan, write_plan(*plan));
  if (flags.chrome.empty()) return ExitCode::kDone;
  std::vector<const NamedTrace*> traces;
  for (const NamedTrace& trace : run->traces) {
    if (trace.trace.plan_digest == shown->trace.plan_digest) traces.push_back(&trace);
  }
  std::ostringstream text;
  write_chrome_trace(text, *plan, traces, run->memory);
  write_text_file(flags.chrome, text.str());
  fmt::print(stderr, "plimsoll: wrote {}; open it in chrome://tracing or ui.perfetto.dev\n", flags.chrome);
  return ExitCode::kDone;
}

}  // namespace

void add_export(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command = app.add_subcommand("export", "Write a run in formats that other programs open");
  command->footer("Example: plimsoll export run.plimsoll --chrome trace.json");
  command->add_option("RUN", flags->run, "a run file")->required();
  auto* chrome =
      command->add_option("--chrome", flags->chrome, "predicted and measured timeline for Chrome and Perfetto");
  auto* plan = command->add_option("--plan", flags->plan, "the plan that ran");
  command->callback([flags, chrome, plan, &code] {
    if (chrome->empty() && plan->empty()) {
      code = report_error({.kind = ErrorKind::kInput,
                           .what = "nothing to export",
                           .where = {},
                           .remedy = "add --chrome FILE or --plan FILE"});
      return;
    }
    const auto ended = export_file(*flags);
    code = ended ? *ended : report_error(ended.error());
  });
}

}  // namespace plimsoll
