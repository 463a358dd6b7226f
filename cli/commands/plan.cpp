#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/inputs/target_machine.h"
#include "cli/options/durability_flags.h"
#include "cli/options/other_stack.h"
#include "cli/options/strategy_choice.h"
#include "cli/options/training_flags.h"
#include "cli/print/output_file.h"
#include "cli/print/print_fit.h"
#include "cli/print/print_safety.h"
#include "cli/print/timeline_file.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answered.h"
#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "formats/models/resolve_model.h"
#include "formats/plans/plan_json.h"
#include "formats/runs/report_json.h"
#include "formats/text/write_text_file.h"
#include "sim/planner/fit_answer.h"
#include "sim/planner/predict.h"
#include "sim/stack/lowering/lower_stack.h"
#include "sim/stack/lowering/simulate_dynamic.h"
#include "sim/stack/setup_on.h"
#include "sim/stack/stack_answer.h"

namespace plimsoll {
namespace {

struct PlanFlags {
  std::string model;
  MachineFlags machine;
  TrainingFlags training;
  std::int64_t steps = 0;
  std::string strategy = "auto";
  std::string save_strategy;
  std::string calibration;
  std::string output = "plan.json";
  std::string timeline;
  std::string command;
  StackFlags stack;
  DurabilityFlags durability;
  bool json = false;
};

/// Under another program than ours: what it does, written down. It is simulated and compared, never executed.
Result<Answered> write_other_stack(const PlanFlags& flags) {
  auto other = read_other_stack(flags.model, flags.stack, flags.machine, flags.training, flags.strategy);
  if (!other) return fail(other.error());
  const GpuEntry& gpu = other->machine.gpu;
  const StackSetup setup = setup_on(other->setup, other->machine.options);
  std::optional<WaitingLine> waiting("simulating the program's allocations");
  const auto lowered = lower_stack(other->spec, other->recipe, setup, gpu);
  waiting.reset();
  if (!lowered) return fail(lowered.error());
  FitAnswer answer = stack_answer(other->spec, other->recipe, setup, gpu, lowered->prediction);
  const auto& notes = lowered->prediction.assumptions;
  other->notes.insert(other->notes.end(), notes.begin(), notes.end());
  if (setup.stages > 1) other->notes.emplace_back(kOneStage);
  answer.assumed = other->notes;
  Answered answered{.code = answer.fits ? ExitCode::kDone : ExitCode::kMissed,
                    .text = flags.json ? to_json(answer)
                                       : fit_text(answer, other->recipe, boards_of(*other), is_of_images(other->spec)) +
                                             notes_text(other->notes),
                    .said = {}};
  write_text_file(flags.output, write_plan(lowered->plan));
  answered.said = fmt::format("plimsoll: wrote {} ({} instructions a step; it allocates while it runs: simulate, show and export take it, run does not)\n",
             flags.output, instruction_count(lowered->plan, *lowered->plan.body("step")));
  if (!flags.timeline.empty()) write_timeline(flags.timeline, flags.command, lowered->plan, lowered->trace, lowered->memory);
  return answered;
}

/// The predicted steps of a plan of ours.
Result<void> write_own_timeline(const PlanFlags& flags, const Plan& plan, const CostModel& costs) {
  if (flags.timeline.empty()) return {};
  const auto prediction = predict(plan, costs);
  if (!prediction) return fail(prediction.error());
  write_timeline(flags.timeline, flags.command, plan, prediction->trace, {});
  return {};
}

/// Before anything is planned: files that could not be written, and options that do not go together.
Result<void> check_plan_flags(const PlanFlags& flags) {
  if (const auto usable = check_replaceable(flags.output, FileKind::kJson); !usable) return fail(usable.error());
  if (const auto usable = check_timeline_output(flags.timeline); !usable) return fail(usable.error());
  if (const auto goes = check_stack_options(flags.stack); !goes) return fail(goes.error());
  const auto safety = read_safety(flags.durability);
  if (!safety) return fail(safety.error());
  if (flags.stack.other() && safety->durability != Durability::kNone) {
    return fail({.kind = ErrorKind::kInput, .what = "--durability is of plimsoll's own plans", .where = {}, .remedy = "leave it out, or --stack"});
  }
  if (flags.stack.other()) return {};
  if (const auto one = check_one_gpu(flags.machine); !one) return fail(one.error());
  return check_strategy_output(flags.save_strategy);
}

/// Writes the plan that was found, proved.
Result<std::string> write_found(const PlanFlags& flags, const Plan& plan, const CostModel& costs) {
  const auto verified = verify_plan(plan);
  if (!verified) return fail(verified.error());
  write_text_file(flags.output, write_plan(plan));
  if (const auto written = write_own_timeline(flags, plan, costs); !written) return fail(written.error());
  return fmt::format("plimsoll: wrote {} ({} instructions a step, verified)\n", flags.output, verified->instructions);
}

std::string plan_text(const PlanFlags& flags, const FitAnswer& answer, const ModelSpec& spec, const Recipe& recipe, const TargetMachine& machine) {
  if (flags.json) return to_json(answer);
  return fit_text(answer, recipe, machine.platform.name, is_of_images(spec)) +
         (answer.safety ? safety_text(*answer.safety) : std::string()) + notes_text(machine.notes);
}

Result<Answered> make_plan(const PlanFlags& flags) {
  if (const auto goes = check_plan_flags(flags); !goes) return fail(goes.error());
  if (flags.stack.other()) return write_other_stack(flags);
  const auto strategy = read_strategy_choice(flags.strategy);
  if (!strategy) return fail(strategy.error());
  const auto model = describe_model(flags.model, flags.training);
  if (!model) return fail(model.error());
  auto machine = find_target_machine(flags.machine, flags.calibration);
  if (!machine) return fail(machine.error());
  auto recipe = make_recipe(flags.training, model->spec, machine->precision, machine->precision_reason, machine->notes);
  if (!recipe) return fail(recipe.error());
  note_clipping(*recipe, machine->notes);
  if (recipe->schedule != LrSchedule::kConstant) recipe->total_steps = flags.steps;
  if (const auto taken = take_system(strategy->family, *recipe, machine->notes); !taken) return fail(taken.error());
  if (const auto valid = validate(*recipe, model->spec); !valid) return fail(valid.error());
  std::optional<WaitingLine> waiting("searching for the fastest plan that fits");
  const auto search = search_plan(model->spec, *recipe, machine->platform, *machine->costs,
                                  {.strategy = strategy->family, .exact = strategy->exact, .evaluation = true});
  if (!search) return fail(search.error());
  auto answer = fit_answer(*search, {model->spec, *recipe, machine->platform, *machine->costs, true});
  waiting.reset();
  if (!answer) return fail(answer.error());
  add_safety(flags.durability, model->spec, *recipe, machine->platform, *answer);
  Answered answered{.code = search->plan ? ExitCode::kDone : ExitCode::kMissed,
                    .text = plan_text(flags, *answer, model->spec, *recipe, *machine),
                    .said = {}};
  save_strategy(flags.save_strategy, answer->strategy);
  if (!search->plan) return answered;
  const auto said = write_found(flags, *search->plan, *machine->costs);
  if (!said) return fail(said.error());
  answered.said = *said;
  return answered;
}

}  // namespace

AskableCommand declare_plan(CLI::App& app) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* command = app.add_subcommand("plan", "Find the fastest plan that fits and write it to a file");
  command->footer(
      "Example: plimsoll plan gpt:layers=4,hidden=256,heads=4,vocab=256 --device-memory 64MiB -o plan.json");
  command->add_option("MODEL", flags->model, "zoo name, config.json, .safetensors, folder, or gpt:layers=24,hidden=…")
      ->required();
  command->add_option("-o,--output", flags->output, "where the plan goes")->capture_default_str();
  command->add_option("--timeline", flags->timeline, "a run file with the plan, its predicted steps and memory, for show, export and the window");
  add_machine_flags(*command, flags->machine);
  add_shape_flags(*command, flags->training);
  add_number_flags(*command, flags->training);
  add_stack_flags(*command, flags->stack);
  add_preference_flags(*command, flags->stack);
  add_durability_flags(*command, flags->durability);
  command->add_option("--steps", flags->steps, "optimizer steps (where the linear and cosine schedules end)");
  command->add_option("--strategy", flags->strategy, strategy_help())
      ->capture_default_str();
  command->add_option("--save-strategy", flags->save_strategy, "write what was found where it can be edited for --strategy FILE");
  command->add_option("--calibration", flags->calibration, "measurements that replace the catalogue's: a run file, or CSV or JSON of samples");
  command->add_flag("--json", flags->json, "machine-readable answer");
  return {command, [flags] { return make_plan(*flags); }};
}

void add_plan(CLI::App& app, ExitCode& code) { print_when_called(declare_plan(app), code); }

}  // namespace plimsoll
