#include "sim/stack/exported_setup.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

Tier tier_of(Home home) {
  return home == Home::kDevice ? Tier::kDevice : home == Home::kHost ? Tier::kHost : Tier::kSsd;
}
Home home_of(Tier tier) {
  return tier == Tier::kDevice ? Home::kDevice : tier == Tier::kHost ? Home::kHost : Home::kDrive;
}

std::optional<ExportSource> source_of(Stack stack) {
  switch (stack) {
    case Stack::kPytorch:
      return ExportSource::kPytorch;
    case Stack::kDeepspeed:
      return ExportSource::kDeepspeed;
    case Stack::kColossalai:
      return ExportSource::kColossalai;
    case Stack::kMegatron:
      return ExportSource::kMegatron;
    default:
      return std::nullopt;
  }
}

ExportedCheckpoints checkpoints_of(Recomputation rule) {
  if (rule == Recomputation::kNone) return ExportedCheckpoints::kNone;
  return rule == Recomputation::kSelective ? ExportedCheckpoints::kSelective : ExportedCheckpoints::kBlocks;
}

/// What a published system's own software does; states and gradients go to the same place.
struct PublishedSetup {
  std::string_view name;
  Stack stack;
  int zero;
  Home parameters, optimizer, activations;
  bool automatic_placement;
  bool delayed_update = false;
};

constexpr PublishedSetup kPublished[] = {
    {"zero-offload", Stack::kDeepspeed, 2, Home::kDevice, Home::kHost, Home::kDevice, false},
    {"zero-offload-delayed", Stack::kDeepspeed, 2, Home::kDevice, Home::kHost, Home::kDevice, false, true},
    {"zero-3-offload", Stack::kDeepspeed, 3, Home::kHost, Home::kHost, Home::kDevice, false},
    {"zero-infinity", Stack::kDeepspeed, 3, Home::kDrive, Home::kDrive, Home::kHost, false},
    {"gemini-static", Stack::kColossalai, 0, Home::kHost, Home::kHost, Home::kDevice, false},
    {"gemini", Stack::kColossalai, 0, Home::kDevice, Home::kDevice, Home::kDevice, true},
};

std::string names_under(Stack stack) {
  std::string names;
  for (const PublishedSetup& known : kPublished) {
    if (known.stack == stack) names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  }
  return names;
}

/// What no configuration that is written has words for.
Result<void> check_sayable(const StackSetup& setup) {
  if (setup.delayed_update) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "no configuration of DeepSpeed says that updates come one step late",
                 .where = "--strategy",
                 .remedy = "export zero-offload"});
  }
  if (setup.optimizer_form.exists()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "no configuration that is written says how optimizer states are projected, narrowed or paged",
                 .where = "--stack",
                 .remedy = "leave --projection, --state-bits and --paged-states out"});
  }
  return {};
}

}  // namespace

Result<ExportedTraining> exported_training(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  const auto source = source_of(setup.stack);
  if (!source) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("no program reads a configuration of {}", to_text(setup.stack)),
                 .where = "--stack",
                 .remedy = "choose pytorch, deepspeed, colossalai or megatron"});
  }
  if (const auto sayable = check_sayable(setup); !sayable) return fail(sayable.error());
  ExportedTraining training{.spec = spec, .recipe = recipe, .source = *source};
  if (setup.preference.exists()) training.preferences = to_text(setup.preference.method);
  training.origin = fmt::format("setup of {}: {}", to_text(setup.stack), describe(setup));
  training.data_ranks = setup.data_ranks;
  training.tensor_ranks = setup.tensor_ranks;
  training.stages = setup.stages;
  training.chunks = setup.chunks;
  training.context_ranks = setup.context_ranks;
  training.sequence_parallel = setup.sequence_parallel;
  training.zero = setup.zero;
  training.parameters = tier_of(setup.parameters);
  training.gradients = tier_of(setup.gradients);
  training.optimizer = tier_of(setup.optimizer);
  training.activations = tier_of(setup.activations);
  training.parameters_away = setup.parameters == Home::kDevice ? 0 : 1;
  training.updates_away = setup.optimizer == Home::kDevice ? 0 : 1;
  training.activations_away = setup.activations == Home::kDevice ? 0 : 1;
  training.checkpoints = checkpoints_of(setup.recomputation);
  training.every = setup.recomputation == Recomputation::kEvery ? setup.every : 1;
  training.compile = setup.compile;
  training.update_in_backward = setup.update_in_backward;
  training.overlaps = setup.overlaps_communication;
  training.reduce_bucket = setup.reduce_bucket;
  training.selected_share = setup.selected_share;
  training.update_every = setup.update_every;
  training.automatic_placement = setup.automatic_placement;
  training.loop = to_text(setup.loop);
  return training;
}

Result<StackSetup> with_configuration(StackSetup setup, const ExportedTraining& read) {
  if (read.optimizer != Tier::kDevice && read.updates_away < 1) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("Twin-Flow (ratio {}) is not modelled under --stack deepspeed", read.updates_away),
                 .where = "zero_optimization/offload_optimizer/ratio",
                 .remedy = "set it to 1, or plan with --strategy twin-flow and no --stack"});
  }
  setup.zero = read.zero;
  setup.parameters = home_of(read.parameters);
  setup.optimizer = home_of(read.optimizer);
  setup.reduce_bucket = read.reduce_bucket;
  setup.overlaps_communication = read.overlaps;
  setup.selected_share = read.selected_share;
  setup.update_every = read.update_every;
  setup.data_ranks = read.data_ranks;
  if (setup.recomputation == Recomputation::kNone && read.checkpoints == ExportedCheckpoints::kBlocks) {
    setup.recomputation = read.every > 1 ? Recomputation::kEvery : Recomputation::kFull;
    setup.every = read.every;
  }
  if (read.activations == Tier::kHost && setup.recomputation != Recomputation::kNone) setup.activations = Home::kHost;
  return setup;
}

Result<StackSetup> with_published_choices(StackSetup setup, const std::string& name) {
  for (const PublishedSetup& known : kPublished) {
    if (known.name != name || known.stack != setup.stack) continue;
    setup.zero = known.zero;
    setup.parameters = known.parameters;
    setup.optimizer = known.optimizer;
    setup.activations = known.activations;
    setup.automatic_placement = known.automatic_placement;
    setup.delayed_update = known.delayed_update;
    if (setup.recomputation == Recomputation::kNone) setup.recomputation = Recomputation::kFull;
    return setup;
  }
  const std::string names = names_under(setup.stack);
  return fail(
      {.kind = ErrorKind::kInput,
       .what = fmt::format("strategy '{}' is a plan of plimsoll's, and --stack {} makes its own", name,
                           to_text(setup.stack)),
       .where = {},
       .remedy = names.empty()
                     ? "leave --strategy or --stack out"
                     : fmt::format(
                           "leave --strategy or --stack out, or choose {} (deepspeed: a configuration FILE.json, too)",
                           names)});
}

}  // namespace plimsoll
