#include <fmt/format.h>

#include <csignal>
#include <memory>

#include "cli/commands.h"
#include "cli/commands/run_on_ranks.h"
#include "cli/commands/run_request.h"
#include "cli/options/run_flags.h"
#include "cli/print/print_safety.h"
#include "cli/print/progress_lines.h"
#include "cli/print/run_printer.h"
#include "cli/program/answer_error.h"
#include "cli/program/job_here.h"
#include "cli/program/lost_pages.h"
#include "cli/program/stop_signals.h"
#include "formats/runs/report_json.h"
#include "session/resume_command.h"
#include "session/run_session.h"

namespace plimsoll {
namespace {

std::optional<RunAnswer::LossScaling> loss_scaling_of(const std::vector<StepSummary>& steps) {
  if (steps.empty() || steps.back().loss_scale == 0) return std::nullopt;
  RunAnswer::LossScaling scaling{.scale = steps.back().loss_scale, .skipped_steps = {}};
  for (const StepSummary& step : steps) {
    if (step.skipped) scaling.skipped_steps.push_back(step.step);
  }
  return scaling;
}

RunAnswer answer_of(const RunOutcome& outcome, const std::string& file) {
  RunAnswer answer{.steps = static_cast<std::int64_t>(outcome.steps.size()), .file = file};
  for (const StepSummary& step : outcome.steps) {
    answer.losses.push_back(step.loss);
    if (outcome.plan.spec.experts.count == 0) continue;
    answer.expert_losses.push_back(step.expert_loss);
    answer.expert_overflow.push_back(step.expert_overflow);
  }
  answer.loss_scaling = loss_scaling_of(outcome.steps);
  const Nanoseconds median =
      median_step(outcome.measured, outcome.measured.steps.size() > 2 ? outcome.measured.steps[1].step : 0);
  answer.step_seconds_median = to_seconds(median);
  if (outcome.prediction.step.count > 0) answer.predicted_step_seconds = to_seconds(outcome.prediction.step);
  if (outcome.changed) {
    answer.migration = {.after_steps = outcome.changed->after_steps,
                        .moved = outcome.changed->moved,
                        .predicted_seconds = to_seconds(outcome.changed->predicted),
                        .measured_seconds = to_seconds(outcome.changed->measured)};
  }
  if (median.count > 0) {
    answer.tokens_per_second = static_cast<double>(outcome.plan.recipe.tokens_per_step()) / answer.step_seconds_median;
  }
  for (const auto& [steps, found] : outcome.evaluations) answer.evaluations.push_back({steps, found.loss, found.right});
  answer.safety = outcome.safety;
  if (outcome.comparison) answer.memory = comparison_answer(*outcome.comparison).memory;
  return answer;
}

/// What is known of the step where prediction and measurement cannot be held against each other.
std::string steps_text(const RunOutcome& outcome) {
  const RunAnswer answer = answer_of(outcome, {});
  if (answer.step_seconds_median <= 0 || !answer.predicted_step_seconds) return {};
  return fmt::format("  a step was told to take {}, and took {} in the median\n", to_text(outcome.prediction.step),
                     to_text(from_seconds(answer.step_seconds_median)));
}

void print_outcome(const RunOutcome& outcome, const RunFlags& flags) {
  if (flags.json) {
    fmt::print("{}", to_json(answer_of(outcome, flags.output)));
    return;
  }
  fmt::print("{} with plan '{}' on this computer, predicted against measured\n", outcome.plan.spec.name,
             outcome.plan.strategy.name);
  if (outcome.comparison) {
    fmt::print("{}", comparison_text(*outcome.comparison));
  } else {
    fmt::print("  not compared: {}\n{}", outcome.not_compared, steps_text(outcome));
  }
  if (outcome.changed) fmt::print("  {}\n", to_text(*outcome.changed));
  if (outcome.safety) fmt::print("{}", safety_text(*outcome.safety));
  fmt::print("{}", loss_text(outcome.steps));
  if (outcome.plan.spec.experts.count > 0) fmt::print("{}", expert_text(outcome.steps));
  if (const auto scaling = loss_scaling_of(outcome.steps)) {
    fmt::print("  loss scale {:g}; {} of {} steps skipped because their gradients overflowed\n", scaling->scale,
               scaling->skipped_steps.size(), outcome.steps.size());
  }
  fmt::print("  run file {}; {}\n", flags.output,
             outcome.checkpoint.empty() ? "a trial, whose state was not kept" : "checkpoint " + outcome.checkpoint);
}

Result<RunOutcome> conduct(const RunRequest& request, bool quiet, ProgressLines& lines) {
  const std::atomic<bool>& stop = stop_on_signals();
  std::signal(SIGPIPE, SIG_IGN);  // a viewer of the progress that goes away ("| head") does not end a training
  end_on_lost_pages(request.schedule.durability, request.output);
  RunPrinter printer(quiet);
  return run_session(request, lines.beside(printer.watcher()), stop);
}

Result<ExitCode> run(const CLI::App& command, const RunFlags& flags) {
  if (flags.ranks.asks()) return run_on_ranks(flags, command);
  if (is_in_a_job()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "started as several ranks, and nothing says how they share the training",
                 .where = {},
                 .remedy = "add --dp, --pp, --tp, --cp or --ep (docs/ranks.md)"});
  }
  if (const auto alone = check_one_rank(flags.given, flags.training.schedule); !alone) return fail(alone.error());
  if (const auto open = check_progress(flags.progress_fd); !open) return fail(open.error());
  ProgressLines lines(flags.progress_fd);
  auto request = make_run_request(flags);
  if (!request) return lines.end(request.error()), fail(request.error());
  const auto outcome = conduct(*request, flags.quiet, lines);
  if (!outcome) return lines.end(outcome.error()), fail(outcome.error());
  lines.end(*outcome, flags.output);
  print_outcome(*outcome, flags);
  if (!outcome->interrupted) return ExitCode::kDone;
  if (!flags.quiet) {
    fmt::print(stderr, "plimsoll: interrupted; go on with {}\n", resume_command(*request));
  }
  return ExitCode::kInterrupted;
}

}  // namespace

void add_run(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command =
      app.add_subcommand("run", "Train: warm up, calibrate, plan, run that plan, compare with the prediction");
  command->footer(
      "Example: plimsoll run gpt:layers=4,hidden=256,heads=4,vocab=256,positions=128 --data "
      "data/texts/us-constitution.txt\n"
      "         --device-memory 32MiB --ram 1GiB --steps 50 -o run.plimsoll\n"
      "         mpirun -n 2 plimsoll run gpt:layers=4,hidden=256,heads=4,vocab=256,positions=128 --data data/texts/us-constitution.txt --pp 2 --micro-batches 4 --steps 20\n"
      "         mpirun -n 2 plimsoll run gpt:layers=4,hidden=256,heads=4,vocab=256,positions=128 --data data/texts/us-constitution.txt --tp 2 --steps 20\n"
      "         plimsoll run --resume run.plimsoll --data data/texts/us-constitution.txt --steps 100 -o more.plimsoll");
  add_run_flags(*command, *flags);
  command->callback([flags, command, &code] {
    note_given(*command, *flags);
    const auto ended = run(*command, *flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
