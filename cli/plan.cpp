#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/print_fit.h"
#include "cli/strategy_choice.h"
#include "cli/target_machine.h"
#include "cli/training_flags.h"
#include "cli/waiting_line.h"
#include "core/plan/verify_plan.h"
#include "formats/plans/plan_json.h"
#include "formats/runs/report_json.h"
#include "formats/models/resolve_model.h"
#include "formats/text/write_text_file.h"
#include "sim/planner/fit_answer.h"

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
  bool json = false;
};

Result<ExitCode> make_plan(const PlanFlags& flags) {
  if (const auto usable = check_replaceable(flags.output, FileKind::kJson); !usable) return fail(usable.error());
  const auto strategy = read_strategy_choice(flags.strategy);
  if (!strategy) return fail(strategy.error());
  if (const auto usable = check_strategy_output(flags.save_strategy); !usable) return fail(usable.error());
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
  const auto answer = fit_answer(*search, {model->spec, *recipe, machine->platform, *machine->costs, true});
  waiting.reset();
  if (!answer) return fail(answer.error());
  fmt::print("{}", flags.json ? to_json(*answer)
                              : fit_text(*answer, *recipe, machine->platform.name) + notes_text(machine->notes));
  save_strategy(flags.save_strategy, answer->strategy);
  if (!search->plan) return ExitCode::kMissed;
  const auto verified = verify_plan(*search->plan);
  if (!verified) return fail(verified.error());
  write_text_file(flags.output, write_plan(*search->plan));
  fmt::print(stderr, "plimsoll: wrote {} ({} instructions a step, verified)\n", flags.output, verified->instructions);
  return ExitCode::kDone;
}

}  // namespace

void add_plan(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* command = app.add_subcommand("plan", "Find the fastest plan that fits and write it to a file");
  command->footer(
      "Example: plimsoll plan gpt:layers=4,hidden=256,heads=4,vocab=256 --device-memory 64MiB -o plan.json");
  command->add_option("MODEL", flags->model, "zoo name, config.json, .safetensors, folder, or gpt:layers=24,hidden=…")
      ->required();
  command->add_option("-o,--output", flags->output, "where the plan goes")->capture_default_str();
  add_machine_flags(*command, flags->machine);
  add_shape_flags(*command, flags->training);
  add_number_flags(*command, flags->training);
  command->add_option("--steps", flags->steps, "optimizer steps (where the linear and cosine schedules end)");
  command->add_option("--strategy", flags->strategy, strategy_help())
      ->capture_default_str();
  command->add_option("--save-strategy", flags->save_strategy, "write what was found where it can be edited for --strategy FILE");
  command->add_option("--calibration", flags->calibration, "measurements that replace the catalogue's: a run file, or CSV or JSON of samples");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, &code] {
    const auto ended = make_plan(*flags);
    code = ended ? *ended : report_error(ended.error());
  });
}

}  // namespace plimsoll
