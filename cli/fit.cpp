#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/print_fit.h"
#include "cli/target_machine.h"
#include "cli/training_flags.h"
#include "cli/waiting_line.h"
#include "formats/runs/report_json.h"
#include "formats/models/resolve_model.h"
#include "sim/planner/fit_answer.h"

namespace plimsoll {
namespace {

struct FitFlags {
  std::string model;
  MachineFlags machine;
  TrainingFlags training;
  std::string strategy = "auto";
  std::string calibration;
  bool json = false;
};

/// Every family of strategies by itself, those that fit first.
Result<std::vector<FitAnswer>> answer_all(const ModelSpec& spec, const Recipe& recipe, const TargetMachine& machine) {
  std::vector<FitAnswer> answers;
  std::string last;
  for (const Strategy& strategy : candidate_strategies(spec.layers, machine.platform, recipe.precision)) {
    if (strategy.name == last) continue;
    last = strategy.name;
    const auto search = search_plan(spec, recipe, machine.platform, *machine.costs, {.strategy = last});
    if (!search) return fail(search.error());
    auto answer = fit_answer(*search, spec, recipe, machine.platform, *machine.costs);
    if (!answer) return fail(answer.error());
    answers.push_back(std::move(*answer));
  }
  std::stable_sort(answers.begin(), answers.end(), [](const FitAnswer& a, const FitAnswer& b) {
    return std::pair(!a.fits, a.step_seconds) < std::pair(!b.fits, b.step_seconds);
  });
  return answers;
}

ExitCode print_all(const std::vector<FitAnswer>& answers, const FitFlags& flags, const Recipe& recipe,
                   const TargetMachine& machine) {
  if (flags.json) {
    fmt::print("{}", to_json(answers));
  } else {
    for (const FitAnswer& answer : answers) fmt::print("{}", fit_text(answer, recipe, machine.platform.name));
    fmt::print("{}", notes_text(machine.notes));
  }
  return answers.front().fits ? ExitCode::kDone : ExitCode::kMissed;
}

Result<ExitCode> fit(const FitFlags& flags) {
  const auto model = describe_model(flags.model);
  if (!model) return fail(model.error());
  auto machine = find_target_machine(flags.machine, flags.calibration);
  if (!machine) return fail(machine.error());
  for (const ModelNote& note : model->notes) machine->notes.push_back(note.text);
  const auto recipe =
      make_recipe(flags.training, model->spec, machine->precision, machine->precision_reason, machine->notes);
  if (!recipe) return fail(recipe.error());
  if (const auto valid = validate(*recipe, model->spec); !valid) return fail(valid.error());
  std::optional<WaitingLine> waiting("looking for plans that fit");
  if (flags.strategy == "all") {
    const auto answers = answer_all(model->spec, *recipe, *machine);
    waiting.reset();
    if (!answers) return fail(answers.error());
    return print_all(*answers, flags, *recipe, *machine);
  }
  const auto search =
      search_plan(model->spec, *recipe, machine->platform, *machine->costs, {.strategy = flags.strategy});
  if (!search) return fail(search.error());
  const auto answer = fit_answer(*search, model->spec, *recipe, machine->platform, *machine->costs);
  waiting.reset();
  if (!answer) return fail(answer.error());
  if (flags.json) {
    fmt::print("{}", to_json(*answer));
  } else {
    fmt::print("{}{}{}", fit_text(*answer, *recipe, machine->platform.name),
               shortfall_text(*search, machine->platform, answer->parameters), notes_text(machine->notes));
  }
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
  command
      ->add_option("--strategy", flags->strategy, "auto, all, or one of resident, recompute, offload-optimizer[-ssd], stream[-ssd]")
      ->capture_default_str();
  command->add_option("--calibration", flags->calibration, "run file whose measurements replace the catalogue's");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, &code] {
    const auto ended = fit(*flags);
    code = ended ? *ended : report_error(ended.error());
  });
}

}  // namespace plimsoll
