#include "gui/explore/problem.h"

#include <fmt/format.h>

#include <cmath>

#include "core/graph/buildable.h"
#include "core/model/step_size.h"
#include "formats/machines/catalogue_platform.h"
#include "formats/models/resolve_model.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/cost/remembered_costs.h"
#include "sim/planner/systems/offload_system.h"

namespace plimsoll::gui {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

Result<MachineOptions> machine_options(const Choices& choices) {
  MachineOptions options;
  options.ram = Bytes(std::llround(choices.ram_gib * kGib));
  if (choices.ssd_gb > 0) options.ssd = Bytes(std::llround(choices.ssd_gb * 1e9));
  if (choices.device_memory_gib > 0) options.device_memory = Bytes(std::llround(choices.device_memory_gib * kGib));
  options.desktop = choices.desktop;
  options.gpus = choices.gpus;
  if (!choices.os.isEmpty()) {
    const auto os = parse_operating_system(choices.os.toStdString());
    if (!os) return fail(os.error());
    options.os = *os;
  }
  if (choices.pcie.isEmpty()) return options;
  const QStringList parts = choices.pcie.split('x');
  bool generation = false, lanes = parts.size() == 2;
  options.pcie_generation = parts[0].toInt(&generation);
  if (lanes) options.pcie_lanes = parts[1].toInt(&lanes);
  if (generation && lanes) return options;
  return fail({.kind = ErrorKind::kInput, .what = fmt::format("PCIe '{}' is not GENERATIONxLANES", choices.pcie.toStdString()),
               .where = {}, .remedy = "for example 3x16"});
}

Result<void> take_catalogued(const Choices& choices, Problem& problem, PrecisionAdvice& advice) {
  const auto gpu = find_gpu(built_in_gpu_catalogue(), choices.gpu.toStdString());
  if (!gpu) return fail(gpu.error());
  const auto options = machine_options(choices);
  if (!options) return fail(options.error());
  auto platform = gpu_platform(*gpu, *options);
  if (!platform) return fail(platform.error());
  problem.platform = std::move(platform->platform);
  problem.machine = CataloguedMachine{*gpu, *options};
  problem.notes = std::move(platform->defaults);
  advice = default_precision(*gpu);
  return {};
}

Result<void> take_machine(const Choices& choices, const OwnComputer* own, Problem& problem, PrecisionAdvice& advice) {
  if (choices.gpu != QLatin1String("this")) return take_catalogued(choices, problem, advice);
  if (own == nullptr) {
    return fail({.kind = ErrorKind::kEnvironment, .what = "this computer is not known yet", .where = {},
                 .remedy = "the plimsoll program, which looks at it, lies beside the window's file or on the PATH"});
  }
  problem.platform = own->platform;
  problem.costs = own->costs;
  problem.notes = own->notes;
  advice = {.precision = Precision::kFp32, .reason = "the CPU backend computes in fp32"};
  return {};
}

Result<void> take_adapter(const Choices& choices, const ModelSpec& spec, Recipe& recipe) {
  if (choices.lora_rank == 0) return {};
  auto targets = parse_adapter_targets(choices.lora_targets.isEmpty() ? "all" : choices.lora_targets.toStdString(), spec);
  if (!targets) return fail(targets.error());
  recipe.adapter = {.rank = choices.lora_rank, .alpha = 2 * static_cast<double>(choices.lora_rank), .targets = std::move(*targets)};
  if (choices.base_bits == 4) recipe.adapter.base = BaseStorage::kNf4;
  if (choices.base_bits == 8) recipe.adapter.base = BaseStorage::kInt8;
  const bool wide = size_of(compute_dtype(recipe.precision)) > 2;
  if (choices.base_bits == 16 && wide) recipe.adapter.base = BaseStorage::kBf16;
  return validate(recipe.adapter, spec);
}

Result<void> take_recipe(const Choices& choices, const PrecisionAdvice& advice, Problem& problem) {
  Recipe recipe{.precision = advice.precision, .micro_batch = choices.batch, .accumulate = choices.accumulate};
  if (!choices.precision.isEmpty()) {
    const auto precision = parse_precision(choices.precision.toStdString());
    if (!precision) return fail(precision.error());
    recipe.precision = *precision;
  } else {
    problem.notes.push_back(fmt::format("precision {}: {}", to_text(advice.precision), advice.reason));
  }
  const auto optimizer = parse_optimizer(choices.optimizer.toStdString());
  if (!optimizer) return fail(optimizer.error());
  recipe = with_optimizer(recipe, *optimizer);
  recipe.sequence = choices.sequence > 0 ? choices.sequence : usual_sequence(problem.spec);
  if (choices.sequence == 0) {
    problem.notes.push_back(fmt::format("sequence length {} of the model's {}", recipe.sequence, longest_trained(problem.spec, choices.stack == "plimsoll")));
  }
  if (const auto taken = take_adapter(choices, problem.spec, recipe); !taken) return taken;
  if (const OffloadSystem* system = choices.exact ? nullptr : find_system(choices.strategy.toStdString())) {
    const auto own = recipe_for(*system, recipe);
    if (!own) return fail(own.error());
    recipe = *own;
  }
  if (const auto small = check_step_size(problem.spec, recipe); !small) return small;
  if (const auto valid = validate(recipe, problem.spec); !valid) return valid;
  problem.recipe = std::move(recipe);
  return {};
}

}  // namespace

bool falls_back_to_pytorch(const Choices& choices) {
  if (asks_program(choices) || choices.exact || choices.strategy != QLatin1String("auto") || choices.gpu == QLatin1String("this"))
    return false;
  const auto model = describe_model(choices.model.trimmed().toStdString());
  return model && !unbuildable_training(model->spec, choices.lora_rank > 0).empty();
}

Result<Problem> make_problem(const Choices& choices, const OwnComputer* own) {
  Problem problem;
  const auto model = describe_model(choices.model.trimmed().toStdString());
  if (!model) return fail(model.error());
  problem.spec = model->spec;
  PrecisionAdvice advice;
  if (const auto taken = take_machine(choices, own, problem, advice); !taken) return fail(taken.error());
  for (const ModelNote& note : model->notes) problem.notes.push_back(note.text);
  if (const auto taken = take_recipe(choices, advice, problem); !taken) return fail(taken.error());
  if (!problem.costs) problem.costs = std::make_shared<RememberedCosts>(std::make_shared<CatalogueCostModel>());
  return problem;
}

}  // namespace plimsoll::gui
