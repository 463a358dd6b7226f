#include "gui/explore/offered_values.h"

#include <optional>

#include "formats/models/model_zoo.h"
#include "sim/planner/systems/offload_system.h"
#include "sim/stack/exported_setup.h"
#include "sim/stack/llmc/check_llmc.h"
#include "sim/stack/megatron/check_megatron.h"

namespace plimsoll::gui {
namespace {

constexpr const char* kHopper = "9.0";  ///< a compute capability whose boards have every kernel

/// A training that every program takes: GPT-2 by AdamW in bf16.
struct Trial {
  ModelSpec spec;
  Recipe recipe;
  StackSetup setup;
};

std::optional<Trial> trial_under(const Choices& choices) {
  const auto stack = parse_stack(choices.stack.toStdString());
  const auto model = find_in_zoo("gpt2");
  if (!stack || !model) return std::nullopt;
  Trial trial{.spec = model->spec, .recipe = {}, .setup = {}};
  trial.recipe.precision = Precision::kBf16Mixed;
  trial.recipe.sequence = trial.spec.max_positions;
  trial.setup.stack = *stack;
  return trial;
}

bool goes(const Trial& trial) {
  if (trial.setup.stack == Stack::kMegatron) return check_megatron(trial.spec, trial.recipe, trial.setup, kHopper).has_value();
  return trial.setup.stack != Stack::kLlmc || check_llmc(trial.spec, trial.recipe, trial.setup).has_value();
}

bool takes_optimizer(Trial trial, const QString& name) {
  const auto optimizer = parse_optimizer(name.toStdString());
  if (optimizer) trial.recipe = with_optimizer(trial.recipe, *optimizer);
  return optimizer && goes(trial);
}

bool takes_precision(Trial trial, const QString& name) {
  const auto precision = parse_precision(name.toStdString());
  if (precision) trial.recipe.precision = *precision;
  return name.isEmpty() || (precision && goes(trial));
}

bool takes_zero(Trial trial, const QString& stage) {
  trial.setup.zero = stage.toInt();
  return goes(trial);
}

bool takes_strategy(const Trial& trial, const QString& name) {
  return trial.setup.stack == Stack::kPlimsoll || name == QLatin1String("auto") ||
         with_published_choices(trial.setup, name.toStdString()).has_value();
}

bool takes_adapters(Trial trial) {
  trial.recipe.adapter.rank = 16;
  return goes(trial);
}

/// Of a program that nobody knows, all.
template <typename Takes>
QStringList offered(const Choices& choices, const QStringList& values, const QString& chosen, Takes takes) {
  const auto trial = trial_under(choices);
  QStringList taken;
  for (const QString& value : values) {
    if (value == chosen || !trial || takes(*trial, value)) taken << value;
  }
  return taken;
}

QStringList strategies() {
  QStringList names{QStringLiteral("auto")};
  for (const std::string& name : strategy_names()) {
    const OffloadSystem* system = find_system(name);
    if (system == nullptr || system->refusal.empty()) names << QString::fromStdString(name);
  }
  return names << QString::fromLatin1(kByHand);
}

}  // namespace

QStringList offered_optimizers(const Choices& choices) {
  const QStringList all = QString::fromStdString(optimizer_names()).split(QStringLiteral(", "));
  return offered(choices, all, choices.optimizer, takes_optimizer);
}

QStringList offered_precisions(const Choices& choices) {
  return offered(choices, {"", "fp32", "tf32", "fp16-mixed", "bf16-mixed", "bf16"}, choices.precision, takes_precision);
}

QStringList offered_zero_stages(const Choices& choices) { return offered(choices, {"", "0", "1", "2", "3"}, choices.zero, takes_zero); }

QStringList offered_strategies(const Choices& choices) {
  const QString chosen = choices.exact ? QString::fromLatin1(kByHand) : choices.strategy;
  return offered(choices, strategies(), chosen, takes_strategy);
}

bool offers_adapters(const Choices& choices) {
  const auto trial = trial_under(choices);
  return choices.lora_rank > 0 || !trial || takes_adapters(*trial);
}

bool offers_expert_ranks(const Choices& choices) {
  if (choices.expert_ranks > 0) return true;
  const bool cuts_layers = choices.stack == QLatin1String("megatron") || (choices.stack == QLatin1String("plimsoll") && asks_program(choices));
  if (!cuts_layers) return false;
  if (const auto model = find_in_zoo(choices.model.trimmed().toStdString())) return model->spec.experts.count > 0;
  return !choices.model.contains(':') || choices.model.contains(QLatin1String("experts="));
}

Choices with_taken_values(Choices choices) {
  const auto trial = trial_under(choices);
  if (!trial) return choices;
  const Choices usual;
  choices.more = usual.more, choices.file_notes = usual.file_notes;
  if (!takes_optimizer(*trial, choices.optimizer)) choices.optimizer = usual.optimizer;
  if (!takes_precision(*trial, choices.precision)) choices.precision = usual.precision;
  if (!takes_zero(*trial, choices.zero)) choices.zero = usual.zero;
  if (!takes_strategy(*trial, choices.strategy)) choices.strategy = usual.strategy;
  if (!takes_adapters(*trial)) choices.lora_rank = usual.lora_rank;
  if (trial->setup.stack != Stack::kPlimsoll) choices.exact.reset();
  const bool has_fields = trial->setup.stack == Stack::kPlimsoll || trial->setup.stack == Stack::kMegatron;
  if (!has_fields) choices.tensor_ranks = choices.stages = choices.expert_ranks = 0;
  return choices;
}

}  // namespace plimsoll::gui
