#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/commands/compare_recording.h"
#include "cli/print/run_printer.h"
#include "cli/program/answered.h"
#include "core/trace/compare_traces.h"
#include "formats/runs/process_samples.h"
#include "formats/runs/report_json.h"
#include "formats/runs/run_file.h"

namespace plimsoll {
namespace {

struct CompareFlags {
  std::string run;
  std::string prediction;
  std::optional<double> threshold;
  bool json = false;
};

tl::unexpected<Error> lacks(const std::string& path, std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = "the run file has no " + what, .where = path, .remedy = {}});
}

/// A run looks for its plan by what its own first steps measured, so that even one command run twice has two plans as a rule.
tl::unexpected<Error> other_plan(const CompareFlags& flags) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("it ran another plan than {}, so that their instructions are not each other's", flags.prediction),
               .where = flags.run,
               .remedy = fmt::format("compare each with its own prediction, or run one plan twice: plimsoll export {} --plan plan.json, then "
                                     "plimsoll run plan.json",
                                     flags.run)});
}

Result<Answered> compare_files(const CompareFlags& flags) {
  if (!flags.prediction.empty()) {
    const bool first = is_recording(flags.run);
    const bool second = is_recording(flags.prediction);
    if (second && !first) return compare_recording(flags.run, flags.prediction, flags.threshold, flags.json);
    if (first && !second) return compare_recording(flags.prediction, flags.run, flags.threshold, flags.json);
  }
  const auto run = read_run_file(flags.run);
  if (!run) return fail(run.error());
  const auto other = flags.prediction.empty() ? run : read_run_file(flags.prediction);
  if (!other) return fail(other.error());
  const NamedTrace* measured = run->trace("run");
  if (measured == nullptr) return lacks(flags.run, "measured trace");
  const NamedTrace* predicted = other->trace(flags.prediction.empty() ? "predicted" : "run");
  if (predicted == nullptr)
    return lacks(flags.prediction.empty() ? flags.run : flags.prediction, "trace to compare with");
  const Plan* plan = run->plan(measured->trace.plan_digest);
  if (plan == nullptr) return lacks(flags.run, "plan of its trace");
  if (!flags.prediction.empty() && predicted->trace.plan_digest != measured->trace.plan_digest) return other_plan(flags);
  auto comparison = compare_traces(*plan, predicted->trace, measured->trace);
  if (!comparison) return fail(comparison.error());
  if (flags.prediction.empty()) comparison->process = process_in(run->memory);  // what the run foretold of itself alone
  const bool missed = flags.threshold && std::fabs(comparison->error()) > *flags.threshold / 100;
  return Answered{.code = missed ? ExitCode::kMissed : ExitCode::kDone,
                  .text = flags.json                 ? to_json(comparison_answer(*plan, *comparison))
                          : flags.prediction.empty() ? comparison_text(*plan, *comparison)
                                                     : comparison_text(*plan, *comparison, {"the other", "this run"}),
                  .said = {}};
}

}  // namespace

AskableCommand declare_compare(CLI::App& app) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* command =
      app.add_subcommand("compare", "Predicted against measured: step time by phase, peak memory by category");
  command->footer(
      "Example: plimsoll compare run.plimsoll --threshold 15\n"
      "Example: plimsoll compare predicted.plimsoll trace.json.gz    (a run of PyTorch or DeepSpeed, as Kineto, Nsight Systems or\n"
      "         plimsoll profile recorded it, beside a prediction that plimsoll plan --timeline wrote)");
  command->add_option("RUN", flags->run, "a run file, or a prediction")->required();
  command->add_option("OTHER", flags->prediction,
                      "another run file of the same plan (default: the run's own prediction), or a trace of another program");
  command->add_option("--threshold", flags->threshold,
                      "end with exit code 3 when the step's error passes this many percent");
  command->add_flag("--json", flags->json, "machine-readable answer");
  return {command, [flags] { return compare_files(*flags); }};
}

void add_compare(CLI::App& app, ExitCode& code) { print_when_called(declare_compare(app), code); }

}  // namespace plimsoll
