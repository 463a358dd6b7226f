#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/commands/compare_recording.h"
#include "cli/commands/compare_two_runs.h"
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

tl::unexpected<Error> lacks(const std::string& path, std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = "the run file has no " + what, .where = path, .remedy = std::move(remedy)});
}

/// The run's measured trace, or the foretold one of a file that no run wrote; null: it has neither.
const NamedTrace* told_by(const RunFile& file) {
  const NamedTrace* ran = file.trace("run");
  return ran != nullptr ? ran : file.trace("predicted");
}

tl::unexpected<Error> other_plan(const CompareFlags& flags) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("it foretells another plan than {} ran", flags.run),
               .where = flags.prediction,
               .remedy = fmt::format("leave it out, since a run has its own prediction, or run what it foretells: plimsoll export {} --plan "
                                     "plan.json, then plimsoll run plan.json",
                                     flags.prediction)});
}

/// A run beside its own prediction, or beside that of another file.
Result<Answered> compare_foretold(const CompareFlags& flags, const RunFile& run, const NamedTrace& predicted, const NamedTrace& measured) {
  const Plan& plan = *run.plan(measured.trace.plan_digest);
  if (predicted.trace.plan_digest != measured.trace.plan_digest && !flags.prediction.empty()) return other_plan(flags);
  auto comparison = compare_traces(plan, predicted.trace, measured.trace);
  if (!comparison) {
    Error refused = comparison.error();
    refused.where = flags.run;
    return fail(std::move(refused));
  }
  if (flags.prediction.empty()) comparison->process = process_in(run.memory);  // what the run foretold of itself alone
  const bool missed = flags.threshold && std::fabs(comparison->error()) > *flags.threshold / 100;
  return Answered{.code = missed ? ExitCode::kMissed : ExitCode::kDone,
                  .text = flags.json ? to_json(comparison_answer(*comparison)) : comparison_text(*comparison),
                  .said = {}};
}

Result<Answered> compare_files(const CompareFlags& flags) {
  if (!flags.prediction.empty()) {
    const bool first = is_recording(flags.run);
    const bool second = is_recording(flags.prediction);
    if (second && !first) return compare_recording(flags.run, flags.prediction, flags.threshold, flags.json);
    if (first && !second) return compare_recording(flags.prediction, flags.run, flags.threshold, flags.json);
  }
  const std::string& other_path = flags.prediction.empty() ? flags.run : flags.prediction;
  const auto run = read_run_file(flags.run);
  if (!run) return fail(run.error());
  const auto other = flags.prediction.empty() ? run : read_run_file(flags.prediction);
  if (!other) return fail(other.error());
  const NamedTrace* measured = run->trace("run");
  if (measured == nullptr) {
    const bool turned = !flags.prediction.empty() && other->trace("run") != nullptr && run->trace("predicted") != nullptr;
    return lacks(flags.run, "measured trace", turned ? "name the run first, then the prediction" : "");
  }
  const NamedTrace* told = flags.prediction.empty() ? other->trace("predicted") : told_by(*other);
  if (told == nullptr) return lacks(other_path, "trace to compare with");
  if (run->plan(measured->trace.plan_digest) == nullptr) return lacks(flags.run, "plan of its trace");
  if (told != other->trace("run")) return compare_foretold(flags, *run, *told, *measured);
  if (other->plan(told->trace.plan_digest) == nullptr) return lacks(other_path, "plan of its trace");
  return compare_two_runs({*run, flags.run}, {*other, other_path}, flags.threshold, flags.json);
}

}  // namespace

AskableCommand declare_compare(CLI::App& app) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* command =
      app.add_subcommand("compare", "Predicted against measured, or two runs: step time by phase, peak memory by category, losses");
  command->footer(
      "Example: plimsoll compare run.plimsoll --threshold 15\n"
      "Example: plimsoll compare ours.plimsoll zero-offload.plimsoll    (two runs: parts of a step, memory, losses)\n"
      "Example: plimsoll compare predicted.plimsoll trace.json.gz    (a run of PyTorch or DeepSpeed, as Kineto, Nsight Systems or\n"
      "         plimsoll profile recorded it, beside a prediction that plimsoll plan --timeline wrote)");
  command->add_option("RUN", flags->run, "a run file, or a prediction")->required();
  command->add_option("OTHER", flags->prediction,
                      "another run, whatever its plan, or a prediction of this plan (default: the run's own), or a trace of another program");
  command->add_option("--threshold", flags->threshold,
                      "end with exit code 3 when the step's error (of two runs: what they differ by) passes this many percent");
  command->add_flag("--json", flags->json, "machine-readable answer");
  return {command, [flags] { return compare_files(*flags); }};
}

void add_compare(CLI::App& app, ExitCode& code) { print_when_called(declare_compare(app), code); }

}  // namespace plimsoll
