#include "cli/options/other_stack.h"

#include <fmt/format.h>

#include "cli/inputs/target_machine.h"
#include "cli/options/divide_gpus.h"
#include "cli/options/stack_adapters.h"
#include "cli/options/partner_options.h"
#include "cli/options/stack_choice.h"
#include "core/base/nearest_names.h"
#include "formats/machines/machine_parts.h"
#include "formats/models/resolve_model.h"
#include "formats/text/read_text_file.h"
#include "sim/stack/check_adapters.h"
#include "sim/stack/node_placement.h"
#include "sim/stack/setup_on.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestMachineFile{std::int64_t{1} << 24};

tl::unexpected<Error> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

Result<void> check_other_stack(const StackFlags& stack, const MachineFlags& machine) {
  if (machine.machine_file.empty() && (machine.gpu.empty() || machine.gpu == "this")) {
    return refuse(fmt::format("--stack {} needs a GPU of the catalogue", stack.stack), "name one with --on, or state one with --machine");
  }
  if (machine.direct_storage) return refuse("--direct-storage is a way of plimsoll's own plans", "leave it or --stack out");
  return check_file_alone(machine);
}

Result<CataloguedMachine> stated_machine(const std::string& path, MachineOptions options) {
  const auto text = read_text_file(path, kLargestMachineFile);
  if (!text) return fail(text.error());
  if (!states_parts(*text)) {
    return fail({.kind = ErrorKind::kInput, .what = "another stack needs a machine file that states parts", .where = path,
                 .remedy = "write one with plimsoll machines --on GPU"});
  }
  const auto parts = read_machine_parts(*text, path);
  if (!parts) return fail(parts.error());
  const auto gpu = gpu_of(parts->gpus.front().name, parts->gpus.front().stated, path);
  if (!gpu) return fail(gpu.error());
  const MachineOptions stated = options_of(*parts);
  options.ram = stated.ram;
  options.dram_gbs = stated.dram_gbs;
  options.ssd = stated.ssd;
  options.ssd_count = stated.ssd_count;
  options.ssd_read_gbs = stated.ssd_read_gbs;
  options.ssd_write_gbs = stated.ssd_write_gbs;
  if (stated.pcie_generation) options.pcie_generation = stated.pcie_generation;
  if (stated.pcie_lanes) options.pcie_lanes = stated.pcie_lanes;
  return CataloguedMachine{gpu_in(*gpu, options), options};
}

/// Rotary and relative positions go on beyond what a model was made for, and no modules refuse that; a table of learnt ones ends.
void lengthen(const TrainingFlags& training, ModelSpec& spec, std::vector<std::string>& notes) {
  const bool goes_on = spec.positions != PositionKind::kLearned && !is_of_images(spec);
  if (!goes_on || training.sequence.value_or(0) <= spec.max_positions) return;
  notes.push_back(
      fmt::format("{} was made for {} positions, fewer than the {} tokens of a sequence: its positions go on, and nothing else depends on them",
                  spec.name, spec.max_positions, *training.sequence));
  spec.max_positions = *training.sequence;
}

/// "unsloth/Qwen3-8B-bnb-4bit": beside adapters the matrices stay as they are stored.
void take_stored_bits(const std::string& model, TrainingFlags& training) {
  const bool adapted = !training.adapter.lora.empty() || !training.adapter.peft.empty();
  if (adapted && !training.adapter.base_bits && name_key(model).ends_with("bnb4bit")) training.adapter.base_bits = 4;
}

/// What config.json drops, where transformers' modules train by it and nobody says otherwise.
void take_stated_dropout(const ModelDescription& described, StackSetup& setup) {
  const bool reads_it = setup.modules == ModuleStyle::kHuggingFace && !setup.preference.drops_nothing() && !described.spec.is_conv_net();
  if (reads_it && !setup.dropout) setup.dropout = described.dropout;
}

Result<CataloguedMachine> find_machine(const MachineFlags& flags) {
  const auto options = read_machine_options(flags);
  if (!options) return fail(options.error());
  if (!flags.machine_file.empty()) return stated_machine(flags.machine_file, *options);
  const auto gpu = find_gpu(built_in_gpu_catalogue(), flags.gpu);
  if (!gpu) return fail(gpu.error());
  return CataloguedMachine{gpu_in(*gpu, *options), *options};
}

void note_idle_links(const StackFlags& flags, OtherStack& other) {
  const auto placed = place_on_nodes(other.machine.gpu, gpus_of(setup_on(other.setup, other.machine.options)),
                                     {flags.nodes, flags.network, flags.peers});
  if (!flags.network.empty() && placed && placed->nodes() == 1)
    other.notes.push_back("--network is between nodes, and all GPUs are in one: it changes nothing");
  if (!flags.peers.empty() && placed && placed->node_gpus == 1)
    other.notes.push_back("--peers is between GPUs of a node, and each has one: it changes nothing");
}

/// transformers' own Adafactor, a loop, is what its users have where nobody says another (torch.optim's is foreach).
void take_usual_loop(const StackFlags& stack, const TrainingFlags& training, StackSetup& setup) {
  const bool usual = setup.stack == Stack::kPytorch && setup.modules == ModuleStyle::kHuggingFace && training.optimizer == "adafactor";
  if (usual && !is_given(stack, "--optimizer-loop")) setup.loop = OptimizerLoop::kForLoop;
}

}  // namespace

std::string boards_of(const OtherStack& other) {
  const std::int64_t gpus = gpus_of(setup_on(other.setup, other.machine.options));
  return gpus > 1 ? fmt::format("{} x {}", gpus, other.machine.gpu.name) : other.machine.gpu.name;
}

Result<OtherStack> read_other_stack(const std::string& model, const StackFlags& typed, const MachineFlags& machine,
                                    const TrainingFlags& training, const std::string& strategy) {
  if (const auto goes = check_other_stack(typed, machine); !goes) return fail(goes.error());
  const auto divided = divide_gpus(typed, machine.gpus);
  if (!divided) return fail(divided.error());
  const StackFlags& stack = *divided;
  const auto described = describe_model(model, training);
  if (!described) return fail(described.error());
  TrainingFlags decided = training;
  take_stored_bits(model, decided);
  auto placed = find_machine(machine);
  if (!placed) return fail(placed.error());
  placed->options.gpus = 1;  // the setup's degrees have them all
  OtherStack other{.spec = described->spec, .recipe = {}, .setup = {}, .machine = *placed,
                   .notes = extrapolation_notes(placed->gpu)};
  for (const ModelNote& note : described->notes) {
    if (!note.of_own_plans) other.notes.push_back(note.text);
  }
  lengthen(training, other.spec, other.notes);
  auto setup = read_stack_setup(stack, other.spec);
  if (!setup) return fail(setup.error());
  take_stated_dropout(*described, *setup);
  decided.own_plan = false;
  if (const auto taken = take_stack_choices(strategy, other.spec, decided, *setup, other.notes); !taken) return fail(taken.error());
  if (const auto taken = take_stack_adapters(stack, other.spec, decided, *setup); !taken) return fail(taken.error());
  take_usual_loop(stack, decided, *setup);
  other.setup = *setup;
  decided.data_ranks = setup->data_ranks;
  note_idle_links(stack, other);
  const PrecisionAdvice advice = default_precision(placed->gpu);
  const auto recipe = make_recipe(decided, other.spec, advice.precision, advice.reason, other.notes);
  if (!recipe) return fail(recipe.error());
  if (const auto valid = validate(*recipe, other.spec); !valid) return fail(valid.error());
  if (const auto goes = check_reduction(stack, recipe->precision); !goes) return fail(goes.error());
  if (const auto goes = check_autocast(stack, recipe->precision); !goes) return fail(goes.error());
  other.recipe = *recipe;
  if (setup->adapter.beyond_lora()) {
    if (const auto known = check_adapters(other.spec, *recipe, *setup); !known) return fail(known.error());
    other.notes.push_back(describe_trained(other.spec, *recipe, *setup, other.machine.gpu));
  }
  return other;
}

}  // namespace plimsoll
