#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/options/export_flags.h"
#include "cli/options/workload_flags.h"
#include "cli/program/answer_error.h"
#include "formats/exporters/export_target.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// Beside a file of ours; everything else describes a training that it has decided.
constexpr std::string_view kOfExport[] = {"WHAT",     "--to",       "--output", "--nvme-path", "--json",
                                          "--chrome", "--perfetto", "--csv",    "--nsight",    "--plan"};

Result<ExitCode> export_what(const ExportFlags& flags) {
  if (!flags.of_run() && flags.target.empty()) {
    return refuse("nothing to export",
                  "add --to PROGRAM, or of a run file --chrome, --perfetto, --csv, --nsight or --plan FILE");
  }
  if (flags.of_run() && !flags.target.empty()) {
    return refuse("--to writes a plan, the other options a trace", "ask for one after the other");
  }
  return flags.of_run() ? export_run(flags) : export_to_program(flags);
}

void add_trace_options(CLI::App& command, ExportFlags& flags) {
  const std::string group = "Traces of a run file";
  command
      .add_option("--chrome", flags.chrome,
                  "predicted and measured timeline for Chrome and Perfetto; import and replay read it")
      ->group(group);
  command
      .add_option("--perfetto", flags.perfetto, "the same as Perfetto's protobuf: tracks, flows, counters of memory")
      ->group(group);
  command.add_option("--csv", flags.csv, "one row an event")->group(group);
  command.add_option("--nsight", flags.nsight, "a run file with the traces in Nsight Systems' tables")->group(group);
  command.add_option("--plan", flags.plan, "the plan that ran")->group(group);
}

}  // namespace

Result<void> check_export_alone(const ExportFlags& flags) {
  for (const std::string& name : flags.given) {
    if (std::find(std::begin(kOfExport), std::end(kOfExport), name) != std::end(kOfExport)) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("{} is what the plan has decided", name),
                 .where = flags.asked.model,
                 .remedy = "leave it out, or name a model in place of the plan"});
  }
  return {};
}

void add_export(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command =
      app.add_subcommand("export", "Write a plan for another program, or a run as a trace that others open");
  command->footer(
      "Example: plimsoll export gpt2-xl --on \"RTX 2060 6GB\" --ram 32GiB --to deepspeed -o ds.json\n"
      "Example: plimsoll export plan.json --to fsdp2 -o fsdp2.json\n"
      "Example: plimsoll export run.plimsoll --chrome trace.json");
  command->add_option("WHAT", flags->asked.model, "a run file, a plan file, or a model as fit takes it")->required();
  command->add_option("--to", flags->target, "the program: " + export_target_names());
  command->add_option("-o,--output", flags->output, "where its options go (default: standard output)");
  command->add_option("--nvme-path", flags->nvme, "the folder for what waits on an SSD (default: /local_nvme)");
  add_trace_options(*command, *flags);
  add_question_flags(*command, flags->asked);
  add_preference_flags(*command, flags->asked.stack);
  add_number_flags(*command, flags->asked.training);
  command->add_option("--steps", flags->asked.steps, "optimizer steps (where the linear and cosine schedules end)");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, command, &code] {
    flags->given = given_options(*command);
    const auto ended = export_what(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
