#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/inputs/load_plan.h"
#include "cli/inputs/probe_cache.h"
#include "cli/options/parallel_flags.h"
#include "cli/print/print_fit.h"
#include "cli/print/print_layouts.h"
#include "cli/print/print_parallel.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answered.h"
#include "formats/models/model_zoo.h"
#include "formats/runs/report_json.h"
#include "sim/planner/fit_answer.h"
#include "sim/stack/lowering/allocation_events.h"
#include "sim/stack/lowering/simulate_dynamic.h"

namespace plimsoll {
namespace {

struct SimulateFlags {
  std::string plan;
  std::string calibration;
  double skips = 0;
  bool json = false;
  bool csv = false;
  MachineFlags machine;
  TrainingFlags training;
  StackFlags stack;
  ParallelFlags parallel;
};

Answered timed(const SimulateFlags& flags, const FitAnswer& answer, const Plan& plan) {
  const std::string machine = answer.gpus > 1 ? fmt::format("{} x {}", answer.gpus, plan.platform.name) : plan.platform.name;
  return {.code = answer.fits ? ExitCode::kDone : ExitCode::kMissed,
          .text = flags.json  ? to_json(answer)
                  : flags.csv ? memory_csv(answer)
                              : fit_text(answer, plan.recipe, machine, is_of_images(plan.spec)) + notes_text(answer.assumed),
          .said = {}};
}

/// A plan of another program: its allocator over its allocations, its launches at the times that they carry.
Result<Answered> simulate_other(const SimulateFlags& flags, const Plan& plan) {
  if (!flags.calibration.empty() || flags.skips > 0) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "the plan is another program's, whose launches carry their times",
                 .where = flags.plan,
                 .remedy = "leave --calibration and --skip-probability out"});
  }
  const auto answer = simulate_dynamic(plan);
  if (!answer) return fail(answer.error());
  return timed(flags, *answer, plan);
}

/// A model's name where a plan file was expected.
Result<void> check_no_model(const std::string& plan) {
  std::error_code absent;
  if (std::filesystem::exists(plan, absent) || !find_in_zoo(plan)) return {};
  return fail({.kind = ErrorKind::kInput, .what = fmt::format("'{}' is a model, and without --on a plan is simulated", plan), .where = {},
               .remedy = "name a GPU for it with --on, or make its plan first: plimsoll plan"});
}

Result<Answered> simulate_file(const SimulateFlags& flags) {
  if (const auto plan = check_no_model(flags.plan); !plan) return fail(plan.error());
  std::optional<WaitingLine> waiting("verifying and timing the plan");
  auto read = read_plan_file(flags.plan);
  if (!read) return fail(read.error());
  if (allocates_while_running(*read)) return simulate_other(flags, *read);
  const auto plan = verified(std::move(*read), flags.plan);
  if (!plan) return fail(plan.error());
  auto own = own_costs(plan->platform);
  if (!own) return fail(own.error());
  const auto costs = load_costs(flags.calibration, std::move(*own), plan->platform);
  if (!costs) return fail(costs.error());
  const auto prediction = predict(*plan, **costs, {.skips = flags.skips});
  if (!prediction) return fail(prediction.error());
  const auto bound = lower_bound(*plan, **costs);
  if (!bound) return fail(bound.error());
  waiting.reset();
  return timed(flags, fit_answer(*plan, *prediction, *bound, (*costs)->source()), *plan);
}

/// A model on many devices, laid out as the options say.
Result<Answered> simulate_layout(const CLI::App& command, const SimulateFlags& flags) {
  if (!flags.calibration.empty() || flags.skips > 0) {
    return fail({.kind = ErrorKind::kInput, .what = "layouts are timed by the catalogue", .where = {},
                 .remedy = "leave --calibration and --skip-probability out"});
  }
  auto asked = read_parallel(flags.plan, flags.parallel, flags.stack, flags.machine, flags.training);
  if (!asked) return fail(asked.error());
  const auto request = read_layout(command, flags.parallel, flags.stack, flags.training);
  if (!request) return fail(request.error());
  asked->question.layout = layout_as_said(*request, asked->question.cluster.gpus);
  std::optional<WaitingLine> waiting("timing the layout");
  const auto answer = predict_parallel(asked->question);
  waiting.reset();
  if (!answer) return fail(answer.error());
  return Answered{.code = answer->fits() ? ExitCode::kDone : ExitCode::kMissed,
                  .text = flags.json  ? parallel_json(asked->question, *answer)
                          : flags.csv ? ranks_csv(*answer)
                                      : parallel_text(asked->question, *answer, asked->notes),
                  .said = {}};
}

/// A GPU is named for a model; a plan has its own.
Result<Answered> simulate(const CLI::App& command, const SimulateFlags& flags) {
  if (!flags.machine.gpu.empty()) return simulate_layout(command, flags);
  if (const auto goes = check_no_layout(command, flags.stack); !goes) return fail(goes.error());
  if (asks_parallel(command, flags.machine, flags.stack)) {
    return fail({.kind = ErrorKind::kInput, .what = "a layout of a model needs a GPU", .where = "--on",
                 .remedy = "name one: --on \"A100 80GB\""});
  }
  return simulate_file(flags);
}

}  // namespace

AskableCommand declare_simulate(CLI::App& app) {
  auto flags = std::make_shared<SimulateFlags>();
  CLI::App* command = app.add_subcommand("simulate", "Verify a plan and time it, or time a model on many devices");
  command->footer("Example: plimsoll simulate plan.json --calibration run.plimsoll\n"
                  "Example: plimsoll simulate gpt3-175b --on \"A100 80GB\" --gpus 1024 --tp 8 --pp 16 --dp 8 --global-batch 1536 "
                  "--schedule interleaved --chunks 2 --recompute full");
  command->add_option("PLAN", flags->plan, "a plan file; with --on, a model as fit takes it")->required();
  command->add_option("--calibration", flags->calibration,
                      "measurements that replace the catalogue's: a run file, or CSV or JSON of samples");
  command->add_option("--skip-probability", flags->skips, "of a step whose fp16 gradients overflow, so that nothing is updated")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->add_flag("--csv", flags->csv, "what each memory of a plan needs, or the ranks of a layout's pipeline, as CSV")
      ->excludes("--json");
  add_layout_flags(*command, flags->machine, flags->stack);
  add_parallel_flags(*command, flags->parallel);
  add_shape_flags(*command, flags->training);
  return {command, [flags, command] { return simulate(*command, *flags); }};
}

void add_simulate(CLI::App& app, ExitCode& code) { print_when_called(declare_simulate(app), code); }

}  // namespace plimsoll
