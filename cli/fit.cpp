#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/print_comparison.h"
#include "cli/print_fit.h"
#include "cli/stack_flags.h"
#include "cli/strategy_choice.h"
#include "cli/target_machine.h"
#include "cli/training_flags.h"
#include "cli/waiting_line.h"
#include "formats/runs/report_json.h"
#include "formats/models/resolve_model.h"
#include "sim/planner/fit_answer.h"
#include "sim/stack/stack_answer.h"

namespace plimsoll {
namespace {

struct FitFlags {
  std::string model;
  MachineFlags machine;
  TrainingFlags training;
  StackFlags stack;
  std::string strategy = "auto";
  std::string save_strategy;
  std::string calibration;
  bool json = false;
};

/// The setup that the flags mean, with what they say of the GPU's memory.
Result<StackSetup> stack_setup(const FitFlags& flags, const ModelSpec& spec) {
  auto setup = read_stack_setup(flags.stack, spec);
  if (!setup) return setup;
  const auto machine = read_machine_options(flags.machine);
  if (!machine) return fail(machine.error());
  setup->device_memory = machine->device_memory;
  setup->desktop = machine->desktop;
  setup->os = machine->os;
  if (machine->gpus > 1 && setup->data_ranks == 1) setup->data_ranks = machine->gpus;
  return setup;
}

Result<ExitCode> compare_all(const FitFlags& flags, const SearchProblem& problem, const TargetMachine& machine) {
  std::optional<WaitingLine> waiting("planning all systems");
  const auto comparison = compare_systems(problem);
  waiting.reset();
  if (!comparison) return fail(comparison.error());
  fmt::print("{}", flags.json ? comparison_json(*comparison)
                              : comparison_text(*comparison, problem.recipe, machine.platform.name) + notes_text(machine.notes));
  const bool some = std::any_of(comparison->published.begin(), comparison->published.end(), [](const FitAnswer& a) { return a.fits; });
  return comparison->own.fits || some ? ExitCode::kDone : ExitCode::kMissed;
}

/// What does not go with another stack, or is missing for it.
Result<void> check_other_stack(const FitFlags& flags) {
  const auto refuse = [&](std::string what, std::string remedy) {
    return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
  };
  if (flags.strategy != "auto") {
    return refuse(fmt::format("strategy '{}' is a plan of plimsoll's, and --stack {} makes its own", flags.strategy, flags.stack.stack),
                  "leave --strategy or --stack out");
  }
  if (flags.machine.gpu.empty() || flags.machine.gpu == "this") {
    return refuse(fmt::format("--stack {} needs a GPU of the catalogue", flags.stack.stack), "name one with --on");
  }
  return {};
}

/// Under another program than ours: what it would need and take.
Result<ExitCode> fit_other_stack(const FitFlags& flags) {
  if (const auto goes = check_other_stack(flags); !goes) return fail(goes.error());
  const auto model = describe_model(flags.model, flags.training);
  if (!model) return fail(model.error());
  const auto setup = stack_setup(flags, model->spec);
  if (!setup) return fail(setup.error());
  const auto gpu = find_gpu(built_in_gpu_catalogue(), flags.machine.gpu);
  if (!gpu) return fail(gpu.error());
  std::vector<std::string> notes;
  const PrecisionAdvice advice = default_precision(*gpu);
  const auto recipe = make_recipe(flags.training, model->spec, advice.precision, advice.reason, notes);
  if (!recipe) return fail(recipe.error());
  if (const auto valid = validate(*recipe, model->spec); !valid) return fail(valid.error());
  const auto prediction = predict_stack(model->spec, *recipe, *setup, *gpu);
  if (!prediction) return fail(prediction.error());
  const FitAnswer answer = stack_answer(model->spec, *recipe, *setup, *gpu, *prediction);
  notes.insert(notes.end(), prediction->assumptions.begin(), prediction->assumptions.end());
  fmt::print("{}", flags.json ? to_json(answer) : fit_text(answer, *recipe, gpu->name) + notes_text(notes));
  return answer.fits ? ExitCode::kDone : ExitCode::kMissed;
}

Result<ExitCode> fit(const FitFlags& flags) {
  if (const auto goes = check_stack_options(flags.stack); !goes) return fail(goes.error());
  if (flags.stack.other()) return fit_other_stack(flags);
  const auto strategy = read_strategy_choice(flags.strategy);
  if (!strategy) return fail(strategy.error());
  if (const auto usable = check_strategy_output(flags.save_strategy); !usable) return fail(usable.error());
  const auto model = describe_model(flags.model, flags.training);
  if (!model) return fail(model.error());
  auto machine = find_target_machine(flags.machine, flags.calibration);
  if (!machine) return fail(machine.error());
  for (const ModelNote& note : model->notes) machine->notes.push_back(note.text);
  auto recipe =
      make_recipe(flags.training, model->spec, machine->precision, machine->precision_reason, machine->notes);
  if (!recipe) return fail(recipe.error());
  note_clipping(*recipe, machine->notes);
  if (const auto taken = take_system(strategy->family, *recipe, machine->notes); !taken) return fail(taken.error());
  if (const auto valid = validate(*recipe, model->spec); !valid) return fail(valid.error());
  if (flags.strategy == "all") return compare_all(flags, {model->spec, *recipe, machine->platform, *machine->costs}, *machine);
  std::optional<WaitingLine> waiting("looking for plans that fit");
  const auto search = search_plan(model->spec, *recipe, machine->platform, *machine->costs,
                                  {.strategy = strategy->family, .exact = strategy->exact});
  if (!search) return fail(search.error());
  const auto answer = fit_answer(*search, {model->spec, *recipe, machine->platform, *machine->costs});
  waiting.reset();
  if (!answer) return fail(answer.error());
  if (flags.json) {
    fmt::print("{}", to_json(*answer));
  } else {
    fmt::print("{}{}", fit_text(*answer, *recipe, machine->platform.name), notes_text(machine->notes));
  }
  save_strategy(flags.save_strategy, answer->strategy);
  return answer->fits ? ExitCode::kDone : ExitCode::kMissed;
}

}  // namespace

void add_fit(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<FitFlags>();
  CLI::App* command = app.add_subcommand("fit", "Will the training fit, how fast, and what limits it?");
  command->footer("Example: plimsoll fit gpt2-xl --on \"RTX 2060 6GB\" --ram 16GiB --ssd 200GB");
  command->add_option("MODEL", flags->model, "zoo name, config.json, .safetensors, folder, or gpt:layers=24,hidden=…")
      ->required();
  add_machine_flags(*command, flags->machine);
  add_shape_flags(*command, flags->training);
  add_stack_flags(*command, flags->stack);
  command
      ->add_option("--strategy", flags->strategy, strategy_help(", all"))
      ->capture_default_str();
  command->add_option("--save-strategy", flags->save_strategy, "write what was found where it can be edited for --strategy FILE");
  command->add_option("--calibration", flags->calibration, "measurements that replace the catalogue's: a run file, or CSV or JSON of samples");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, &code] {
    const auto ended = fit(*flags);
    code = ended ? *ended : report_error(ended.error());
  });
}

}  // namespace plimsoll
