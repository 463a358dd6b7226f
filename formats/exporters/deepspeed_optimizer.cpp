#include "formats/exporters/deepspeed_optimizer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/exporters/refusals.h"

namespace plimsoll {
namespace {

using nlohmann::ordered_json;

ordered_json adam_params(const Recipe& recipe, bool decoupled) {
  return {{"lr", recipe.learning_rate}, {"betas", {recipe.beta1, recipe.beta2}},
          {"eps", recipe.epsilon},      {"weight_decay", recipe.weight_decay},
          {"torch_adam", false},        {"adam_w_mode", decoupled}};
}

/// Type and parameters by DeepSpeed's names; null where there is no such rule.
ordered_json rule_block(const Recipe& recipe) {
  const ordered_json betas{recipe.beta1, recipe.beta2};
  switch (recipe.optimizer) {
    case OptimizerKind::kAdamW:
      return {{"type", "AdamW"}, {"params", adam_params(recipe, true)}};
    case OptimizerKind::kAdam:
      return {{"type", "Adam"}, {"params", adam_params(recipe, false)}};
    case OptimizerKind::kLion:
      return {{"type", "Lion"},
              {"params", {{"lr", recipe.learning_rate}, {"betas", betas}, {"weight_decay", recipe.weight_decay}}}};
    case OptimizerKind::kSgd:
    case OptimizerKind::kMomentum:
      return {{"type", "SGD"},
              {"params",
               {{"lr", recipe.learning_rate},
                {"momentum", recipe.optimizer == OptimizerKind::kSgd ? 0.0 : recipe.momentum},
                {"weight_decay", recipe.weight_decay},
                {"nesterov", recipe.optimizer == OptimizerKind::kMomentum && recipe.nesterov}}}};
    case OptimizerKind::kLamb:
      return {{"type", "Lamb"},
              {"params",
               {{"lr", recipe.learning_rate},
                {"betas", betas},
                {"eps", recipe.epsilon},
                {"weight_decay", recipe.weight_decay}}}};
    default:
      return {};
  }
}

ordered_json scheduler_block(const Recipe& recipe) {
  const std::int64_t warmup = recipe.warmup_steps;
  if (recipe.schedule == LrSchedule::kCosine) {
    return {{"type", "WarmupCosineLR"},
            {"params",
             {{"total_num_steps", recipe.total_steps},
              {"warmup_num_steps", warmup},
              {"warmup_min_ratio", 0.0},
              {"cos_min_ratio", 0.1},
              {"warmup_type", "linear"}}}};
  }
  ordered_json params{{"warmup_min_lr", 0.0},
                      {"warmup_max_lr", recipe.learning_rate},
                      {"warmup_num_steps", warmup},
                      {"warmup_type", "linear"}};
  if (recipe.schedule == LrSchedule::kConstant) {
    return warmup == 0 ? ordered_json() : ordered_json{{"type", "WarmupLR"}, {"params", params}};
  }
  params["total_num_steps"] = recipe.total_steps;
  return {{"type", "WarmupDecayLR"}, {"params", params}};
}

}  // namespace

Result<DeepspeedOptimizer> deepspeed_optimizer(const ExportedTraining& training, std::vector<std::string>& notes) {
  const Recipe& recipe = training.recipe;
  const ordered_json rule = rule_block(recipe);
  if (rule.is_null()) {
    return cannot_export(fmt::format("deepspeed builds no {} from a configuration", to_text(recipe.optimizer)),
                         "take --optimizer adamw, adam, lion, lamb, sgd or momentum");
  }
  const bool adam = recipe.optimizer == OptimizerKind::kAdamW || recipe.optimizer == OptimizerKind::kAdam;
  const bool on_cpu = adam || recipe.optimizer == OptimizerKind::kLion;
  if (training.optimizer != Tier::kDevice && recipe.optimizer == OptimizerKind::kLamb) {
    return cannot_export("deepspeed's Lamb is a kernel of the GPU",
                         "take --optimizer adamw, or keep the states on the device");
  }
  if (training.optimizer != Tier::kDevice && !on_cpu)
    notes.push_back("torch.optim's SGD runs on the CPU: DeepSpeed has no kernel for it there");
  const ordered_json scheduler = scheduler_block(recipe);
  if (recipe.schedule == LrSchedule::kLinear)
    notes.push_back("DeepSpeed's linear schedule falls to 0, plimsoll's to a tenth of the peak");
  return DeepspeedOptimizer{
      .optimizer = rule.dump(), .scheduler = scheduler.is_null() ? "" : scheduler.dump(), .on_cpu = on_cpu};
}

}  // namespace plimsoll
