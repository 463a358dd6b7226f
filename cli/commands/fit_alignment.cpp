#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/fit_workload.h"
#include "cli/inputs/target_machine.h"
#include "cli/print/print_fit.h"
#include "cli/print/waiting_line.h"
#include "core/inference/inference_graph.h"
#include "formats/models/resolve_model.h"
#include "formats/text/csv.h"
#include "sim/alignment/dpo.h"
#include "sim/alignment/ppo.h"
#include "sim/inference/inference_costs.h"

namespace plimsoll {
namespace {

std::string text_of(const AlignmentAnswer& answer, const std::string& what, const std::string& machine) {
  std::string text = fmt::format("{} on {}: {}\n  step    {}\n", what, machine, answer.fits ? "FITS" : "DOES NOT FIT",
                                 to_text(from_seconds(answer.seconds())));
  if (!answer.shortfall.empty()) text += fmt::format("  short   {}\n", answer.shortfall);
  text += fmt::format("  {:<16}{:<30}{:>14}{:>14}\n", "model", "weights", "on the device", "host");
  for (const ResidentModel& model : answer.models) {
    text += fmt::format("  {:<16}{:<30}{:>14}{:>14}\n", model.role, model.place, to_text(model.device), to_text(model.host));
  }
  text += fmt::format("  {:<22}{:>12}{:>18}{:>14}\n", "phase", "time", "peak on device", "host");
  for (const AlignmentPhase& phase : answer.phases) {
    text += fmt::format("  {:<22}{:>12}{:>18}{:>14}\n", phase.name, to_text(from_seconds(phase.seconds)), to_text(phase.device),
                        to_text(phase.host));
  }
  text += fmt::format("  usable                {:>30}{:>14}\n", to_text(answer.device_usable), to_text(answer.host_usable));
  return text + "  simulated only: plimsoll runs no such step\n";
}

std::string json_of(const AlignmentAnswer& answer, const WorkloadRequest& request) {
  nlohmann::ordered_json json{
      {"format_version", 1},
      {"workload", request.workload.workload},
      {"verdict", answer.fits ? "fits" : "does_not_fit"},
      {"model", {{"name", request.model}}},
      {"step_seconds", answer.seconds()},
      {"models", nlohmann::ordered_json::array()},
      {"phases", nlohmann::ordered_json::array()},
      {"memory",
       {{{"space", "gpu0"}, {"peak_bytes", answer.device_peak().count}, {"usable_bytes", answer.device_usable.count}},
        {{"space", "host"}, {"peak_bytes", answer.host_peak().count}, {"usable_bytes", answer.host_usable.count}}}},
      {"simulated_only", true}};
  for (const ResidentModel& model : answer.models) {
    json["models"].push_back({{"role", model.role},
                              {"weights", model.place},
                              {"trained", model.trained},
                              {"device_bytes", model.device.count},
                              {"host_bytes", model.host.count}});
  }
  for (const AlignmentPhase& phase : answer.phases) {
    json["phases"].push_back({{"name", phase.name},
                              {"seconds", phase.seconds},
                              {"device_bytes", phase.device.count},
                              {"host_bytes", phase.host.count}});
  }
  return json.dump(2) + "\n";
}

/// Models that are there throughout, then phases.
std::string csv_of(const AlignmentAnswer& answer) {
  std::string text = "kind,name,weights,seconds,device_bytes,host_bytes\n";
  for (const ResidentModel& model : answer.models) {
    text += fmt::format("model,{},{},,{},{}\n", csv_field(model.role), csv_field(model.place), model.device.count,
                        model.host.count);
  }
  for (const AlignmentPhase& phase : answer.phases) {
    text += fmt::format("phase,{},,{},{},{}\n", csv_field(phase.name), phase.seconds, phase.device.count, phase.host.count);
  }
  return text;
}

Result<ModelSpec> model_or(const std::string& name, const ModelSpec& otherwise) {
  if (name.empty()) return otherwise;
  return resolve_model(name);
}

Result<PpoTask> make_ppo(const WorkloadRequest& request, const ModelSpec& actor, const Recipe& recipe) {
  const WorkloadFlags& flags = request.workload;
  const auto critic = model_or(flags.critic, actor);
  if (!critic) return fail(critic.error());
  const auto reward = model_or(flags.reward, actor);
  if (!reward) return fail(reward.error());
  PpoTask task{.actor = actor,
               .critic = *critic,
               .reward = *reward,
               .recipe = recipe,
               .prompt = flags.prompt.value_or(256),
               .new_tokens = flags.new_tokens.value_or(256),
               .epochs = flags.ppo_epochs};
  task.recipe.sequence = task.prompt + task.new_tokens;
  if (task.prompt < 1 || task.new_tokens < 1 || task.epochs < 1) {
    return fail(
        {.kind = ErrorKind::kInput, .what = "--prompt, --new-tokens and --ppo-epochs are at least 1", .where = {}, .remedy = {}});
  }
  return task;
}

std::vector<std::string> known_options(bool ppo) {
  std::vector<std::string> known{"--batch",      "--accumulate", "--global-batch", "--precision",
                                 "--loss-scale", "--optimizer",  "--clip",         "--lora",
                                 "--lora-alpha", "--base-bits",  "--calibration"};
  const std::vector<std::string> more =
      ppo ? std::vector<std::string>{"--prompt", "--new-tokens", "--critic", "--reward", "--ppo-epochs"}
          : std::vector<std::string>{"--seq"};
  known.insert(known.end(), more.begin(), more.end());
  return known;
}

}  // namespace

Result<Answered> fit_alignment(const WorkloadRequest& request) {
  const bool ppo = request.workload.workload == "ppo";
  if (const auto goes = check_given(request.workload, known_options(ppo)); !goes) return fail(goes.error());
  const auto model = describe_model(request.model, request.training);
  if (!model) return fail(model.error());
  if (const auto writes = check_writes_tokens(model->spec); !writes) return fail(writes.error());
  auto machine = find_target_machine(request.machine, request.calibration);
  if (!machine) return fail(machine.error());
  TrainingFlags training = request.training;
  if (ppo) training.sequence = request.workload.prompt.value_or(256) + request.workload.new_tokens.value_or(256);
  const auto recipe = make_recipe(training, model->spec, machine->precision, machine->precision_reason, machine->notes);
  if (!recipe) return fail(recipe.error());
  if (const auto valid = validate(*recipe, model->spec); !valid) return fail(valid.error());
  const Platform platform = with_cpu_rate(machine->platform);
  const InferenceCosts costs(*machine->costs, platform);
  std::optional<WaitingLine> waiting("planning every model");
  Result<AlignmentAnswer> answer = AlignmentAnswer{};
  if (ppo) {
    const auto task = make_ppo(request, model->spec, *recipe);
    if (!task) return fail(task.error());
    answer = answer_ppo(*task, platform, costs);
  } else {
    answer = answer_dpo(model->spec, *recipe, platform, costs);
  }
  waiting.reset();
  if (!answer) return fail(answer.error());
  const std::string what = fmt::format("{} of {}, {} x {} {} of {} tokens", ppo ? "PPO" : "DPO", model->spec.name,
                                       recipe->accumulate, recipe->micro_batch, ppo ? "sequences" : "pairs", recipe->sequence);
  return Answered{.code = answer->fits ? ExitCode::kDone : ExitCode::kMissed,
                  .text = request.json  ? json_of(*answer, request)
                          : request.csv ? csv_of(*answer)
                                        : text_of(*answer, what, platform.name) + notes_text(machine->notes),
                  .said = {}};
}

}  // namespace plimsoll
