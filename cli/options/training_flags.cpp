#include "cli/options/training_flags.h"

#include <fmt/format.h>

#include <tuple>

#include "cli/options/foreign_options.h"
#include "cli/options/number_checks.h"
#include "core/graph/expert_shape.h"
#include "core/model/step_size.h"
#include "formats/models/resolve_model.h"

namespace plimsoll {
namespace {

Result<std::int64_t> micro_batches(const TrainingFlags& flags) {
  if (!flags.global_batch) return flags.accumulate;
  const std::int64_t together = flags.batch * flags.data_ranks;
  if (together > 0 && *flags.global_batch % together == 0) return *flags.global_batch / together;
  const std::string ranks = flags.data_ranks > 1 ? fmt::format(" x {} data ranks", flags.data_ranks) : std::string();
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("--global-batch {} is not a multiple of --batch {}{}", *flags.global_batch, flags.batch, ranks)});
}

/// A number that the rule does not read would be ignored in silence.
Result<void> check_reads(const OptimizerRule& rule, bool given, bool reads, std::string_view option) {
  if (!given || reads) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("the optimizer {} has no {}", rule.name, option),
               .where = {},
               .remedy = fmt::format("leave {} out, or choose another --optimizer", option)});
}

/// The optimizer with its own numbers, then those that were given.
Result<void> take_optimizer(const TrainingFlags& flags, Recipe& recipe) {
  const auto optimizer = parse_optimizer(flags.optimizer);
  if (!optimizer) return fail(with_own_value(optimizer.error(), "--optimizer", flags.optimizer));
  const OptimizerRule& rule = rule_of(*optimizer);
  const std::tuple<bool, bool, std::string_view> numbers[] = {{!flags.betas.empty(), rule.reads_betas(), "--betas"},
                                                              {flags.epsilon.has_value(), rule.epsilon > 0, "--eps"},
                                                              {flags.momentum.has_value(), rule.momentum > 0, "--momentum"},
                                                              {flags.nesterov, rule.nesterov, "--nesterov"},
                                                              {flags.trust.has_value(), rule.trust > 0, "--trust"},
                                                              {flags.absolute_step, rule.relative_step, "--absolute-step"}};
  for (const auto& [given, reads, option] : numbers) {
    if (auto read = check_reads(rule, given, reads, option); !read) return read;
  }
  recipe = with_optimizer(recipe, *optimizer);
  recipe.learning_rate = flags.learning_rate.value_or(recipe.learning_rate);
  recipe.weight_decay = flags.weight_decay.value_or(recipe.weight_decay);
  if (!flags.betas.empty()) recipe.beta1 = flags.betas.at(0), recipe.beta2 = flags.betas.at(1);
  recipe.epsilon = flags.epsilon.value_or(recipe.epsilon);
  recipe.momentum = flags.momentum.value_or(recipe.momentum);
  recipe.nesterov = flags.nesterov;
  recipe.trust = flags.trust.value_or(recipe.trust);
  recipe.relative_step = !flags.absolute_step;
  return {};
}

}  // namespace

bool is_of_images(const ModelSpec& spec) { return spec.reads_images() || spec.is_conv_net(); }

void add_shape_flags(CLI::App& command, TrainingFlags& flags) {
  const std::string group = "Training";
  command.add_option("--batch", flags.batch, "sequences per micro-batch")->group(group)->capture_default_str();
  auto* accumulate = command.add_option("--accumulate", flags.accumulate, "micro-batches per optimizer step");
  accumulate->group(group)->capture_default_str();
  command.add_option("--global-batch", flags.global_batch, "sequences per optimizer step, of all GPUs")
      ->group(group)
      ->excludes(accumulate);
  command.add_option("--seq", flags.sequence, "tokens per sequence, 8192 or 8k (default: the model's positions, at most 1024)")
      ->transform(tokens_with_unit())
      ->group(group);
  command.add_option("--target-seq", flags.target_sequence, "tokens that the decoder of T5 reads (default: as many as --seq)")
      ->group(group);
  command.add_option("--classes", flags.classes, "put a new head on an encoder, which tells so many classes apart")->group(group);
  command
      .add_option("--precision", flags.precision, "fp32, tf32, fp16-mixed, bf16-mixed or bf16 (default: by the GPU's generation)")
      ->group(group);
  command.add_option("--loss-scale", flags.loss_scale, "of fp16-mixed: dynamic, dynamic:START[:INTERVAL], or a number that stays")
      ->group(group)
      ->capture_default_str();
  command.add_option("--optimizer", flags.optimizer, optimizer_names() + " (docs/optimizers.md)")
      ->group(group)
      ->capture_default_str();
  command.add_option("--clip", flags.clip, "bound of the global gradient norm, 0 for none")
      ->group(group)
      ->capture_default_str();
  add_adapter_flags(command, flags.adapter);
}

void add_number_flags(CLI::App& command, TrainingFlags& flags) {
  const std::string group = "Numbers";
  command.add_option("--lr", flags.learning_rate, "peak learning rate (default: the optimizer's; adamw 3e-4)")->group(group);
  command.add_option("--schedule", flags.schedule, "constant, linear or cosine; with --pp the pipeline's order instead")
      ->group(group)
      ->capture_default_str();
  command.add_option("--warmup", flags.warmup, "steps of linear warm-up")->group(group)->capture_default_str();
  command.add_option("--weight-decay", flags.weight_decay, "weight decay of matrices (default: the optimizer's; adamw 0.1)")
      ->group(group);
  command.add_option("--betas", flags.betas, "two decay rates of moments (adamw 0.9,0.95)")
      ->group(group)
      ->expected(2)
      ->delimiter(',');
  command.add_option("--eps", flags.epsilon, "what keeps divisors from 0 (adamw 1e-8)")->group(group);
  command.add_option("--momentum", flags.momentum, "of momentum and lars (0.9)")->group(group);
  command.add_flag("--nesterov", flags.nesterov, "momentum looks one step ahead")->group(group);
  command.add_option("--trust", flags.trust, "lars: share of its norm that a matrix moves, times the learning rate (1e-3)")
      ->group(group);
  command.add_flag("--absolute-step", flags.absolute_step, "adafactor: steps of the learning rate, not relative to the weights")
      ->group(group);
  command.add_option("--seed", flags.seed, "of weights and batches")->group(group)->capture_default_str();
}

namespace {

/// What the costs of a mixture of experts take for granted.
void note_experts(const ModelSpec& spec, const Recipe& recipe, std::vector<std::string>& notes) {
  const ExpertSpec& experts = spec.experts;
  if (experts.count == 0) return;
  const std::int64_t tokens = recipe.tokens_per_micro_batch();
  const std::int64_t group = tokens / experts.groups, capacity = capacity_of(experts, group);
  const OpShape shape{.rows = tokens, .experts = experts.count, .choices = experts.per_token,
                      .capacity = capacity, .groups = experts.groups};
  std::string text = fmt::format(
      "tokens spread over the {} experts of a block as chance would have it, and the kernels' work with them", experts.count);
  if (capacity > 0) {
    const double sent = expected_rows(shape) / static_cast<double>(tokens * experts.per_token);
    text += fmt::format("; an expert takes {} of a group of {}, which refuses {:.1f} % of the choices", capacity,
                        group, 100 * (1 - sent));
  } else {
    text += fmt::format("; no expert refuses one ({} rows for {} tokens)", expert_rows(shape), tokens);
  }
  notes.push_back(std::move(text));
}

/// What a batch is made of, in words.
std::string sequences_of(const ModelSpec& spec, const Recipe& recipe) {
  if (!spec.has_encoder_and_decoder()) return fmt::format("sequences of {} tokens", recipe.sequence);
  return fmt::format("sequences of {} tokens read and {} written", recipe.sequence, target_tokens(recipe));
}

/// A length of 0 would mean none was given.
Result<void> take_target(const TrainingFlags& flags, const ModelSpec& spec, Recipe& recipe) {
  if (!flags.target_sequence) return {};
  if (*flags.target_sequence == 0)
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("--target-seq 0 does not lie between 1 and {}", spec.max_positions),
                 .where = {},
                 .remedy = "leave --target-seq out for as many as --seq"});
  recipe.target_sequence = *flags.target_sequence;
  return {};
}

Result<void> take_classes(const TrainingFlags& flags, const std::string& name, ModelDescription& found) {
  if (flags.classes == 0) return {};
  if (found.spec.causal || flags.classes < 2) {
    return fail({.kind = ErrorKind::kInput,
                 .what = flags.classes < 2 ? fmt::format("--classes must be at least 2, not {}", flags.classes)
                                           : "--classes puts a head on an encoder, and this is none",
                 .where = name,
                 .remedy = {}});
  }
  found.spec = with_classes(std::move(found.spec), flags.classes);
  std::erase_if(found.notes, [](const ModelNote& note) { return note.of_head; });
  if (auto valid = validate(found.spec); !valid) return fail(valid.error());
  found.notes.push_back({.text = fmt::format("a head of {} classes; what of it the checkpoint lacks begins from the seed",
                                             flags.classes)});
  return {};
}

Result<void> take_image(const TrainingFlags& flags, const std::string& name, ModelDescription& found) {
  if (!flags.image) return {};
  ModelSpec& spec = found.spec;
  if (!is_of_images(spec)) {
    return fail({.kind = ErrorKind::kInput, .what = "--image would be ignored: the model reads tokens", .where = name,
                 .remedy = "give their number with --seq"});
  }
  spec.image.size = *flags.image;
  if (spec.reads_images() && spec.image.patch > 0) spec.max_positions = spec.image.patches() + 1;
  if (auto valid = validate(spec); !valid) return fail(valid.error());
  found.notes.push_back({.text = fmt::format("images of {0} x {0} pixels", spec.image.size)});
  if (spec.image.patch == 0) return {};
  found.notes.push_back({.text = fmt::format("a table of {} positions, as such images need one", spec.max_positions)});
  return {};
}

}  // namespace

Result<ModelDescription> describe_model(const std::string& name, const TrainingFlags& flags) {
  auto found = describe_model(name);
  if (!found) return found;
  if (const auto taken = take_classes(flags, name, *found); !taken) return fail(taken.error());
  if (const auto taken = take_image(flags, name, *found); !taken) return fail(taken.error());
  return found;
}

namespace {

Result<void> take_precision(const TrainingFlags& flags, const std::string& reason, Recipe& recipe, std::vector<std::string>& notes) {
  if (flags.precision.empty()) {
    notes.push_back(fmt::format("precision {}: {}", to_text(recipe.precision), reason));
  } else {
    const auto precision = parse_precision(flags.precision);
    if (!precision) return fail(with_own_value(precision.error(), "--precision", flags.precision));
    recipe.precision = *precision;
  }
  const auto scaling = parse_loss_scaling(flags.loss_scale);
  if (!scaling) return fail(scaling.error());
  if (!scales_loss(recipe.precision) && *scaling != LossScaling{}) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("--loss-scale {} is for fp16-mixed, and the precision is {}", flags.loss_scale,
                                     to_text(recipe.precision)),
                 .where = {},
                 .remedy = "leave --loss-scale out, or add --precision fp16-mixed"});
  }
  recipe.loss_scaling = *scaling;
  return {};
}

void note_recipe(const TrainingFlags& flags, const ModelSpec& spec, const Recipe& recipe, std::vector<std::string>& notes) {
  const bool images = is_of_images(spec);
  if (!flags.sequence && !images)
    notes.push_back(fmt::format("sequence length {} of the model's {}", recipe.sequence, longest_trained(spec, flags.own_plan)));
  if (spec.head == HeadKind::kMaskedToken && spec.mask_token < 0) {
    notes.push_back("no tokenizer says which token hides others: the last of the vocabulary does");
  }
  notes.push_back(step_text(spec, recipe));
  if (flags.own_plan) note_experts(spec, recipe, notes);
}

}  // namespace

std::string step_text(const ModelSpec& spec, const Recipe& recipe) {
  return fmt::format("{} x {} {} a step, {}, clip {}", recipe.accumulate, recipe.micro_batch,
                     is_of_images(spec) ? "images" : sequences_of(spec, recipe), to_text(recipe.optimizer), recipe.clip);
}

Result<Recipe> make_recipe(const TrainingFlags& flags, const ModelSpec& spec, Precision default_precision,
                           const std::string& precision_reason, std::vector<std::string>& notes) {
  Recipe recipe{.precision = default_precision,
                .micro_batch = flags.batch,
                .warmup_steps = flags.warmup,
                .clip = flags.clip,
                .seed = flags.seed};
  const auto accumulate = micro_batches(flags);
  if (!accumulate) return fail(accumulate.error());
  recipe.accumulate = *accumulate;
  if (const auto small = check_step_size(spec, recipe); !small) return fail(small.error());
  if (const auto taken = take_precision(flags, precision_reason, recipe, notes); !taken) return fail(taken.error());
  if (const auto ruled = take_optimizer(flags, recipe); !ruled) return fail(ruled.error());
  auto adapter = make_adapter(flags.adapter, spec, recipe.precision, notes);
  if (!adapter) return fail(adapter.error());
  recipe.adapter = std::move(*adapter);
  const auto schedule = parse_lr_schedule(flags.schedule);
  if (!schedule) return fail(schedule.error());
  recipe.schedule = *schedule;
  recipe.sequence = flags.sequence.value_or(usual_sequence(spec));
  if (const auto target = take_target(flags, spec, recipe); !target) return fail(target.error());
  note_recipe(flags, spec, recipe, notes);
  return recipe;
}

void note_clipping(const Recipe& recipe, std::vector<std::string>& notes) {
  if (recipe.clip <= 0) return;
  notes.push_back("every step clipped: plans that update during backward (overlapped) make each update twice; a run learns "
                  "how often it happens");
}

}  // namespace plimsoll
