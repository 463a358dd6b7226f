#include "core/model/optimizer.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/nearest_names.h"

namespace plimsoll {
namespace {

using Kind = OptimizerKind;

/// In the order in which they are listed to people. docs/optimizers.md says where each number comes from.
constexpr std::array<OptimizerRule, 11> kRules{{
    {.kind = Kind::kSgd, .name = "sgd", .learning_rate = 1e-3},
    {.kind = Kind::kMomentum, .name = "momentum", .learning_rate = 1e-3, .momentum = 0.9, .nesterov = true},
    {.kind = Kind::kAdam, .name = "adam", .learning_rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
    {.kind = Kind::kAdamW, .name = "adamw", .learning_rate = 3e-4, .weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.95,
     .epsilon = 1e-8},
    {.kind = Kind::kAdam8bit, .name = "adam8bit", .learning_rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8,
     .whole_tensors = true},
    {.kind = Kind::kAdafactor, .name = "adafactor", .learning_rate = 1e-2, .epsilon = 0x1p-23, .relative_step = true,
     .whole_tensors = true},
    {.kind = Kind::kSm3, .name = "sm3", .learning_rate = 0.1,
     .whole_tensors = true},
    {.kind = Kind::kLamb, .name = "lamb", .learning_rate = 1e-3, .weight_decay = 0.01, .beta1 = 0.9, .beta2 = 0.999,
     .epsilon = 1e-6,
     .whole_tensors = true},
    {.kind = Kind::kLars, .name = "lars", .learning_rate = 0.1, .weight_decay = 5e-4, .momentum = 0.9, .trust = 1e-3,
     .whole_tensors = true},
    {.kind = Kind::kLion, .name = "lion", .learning_rate = 1e-4, .beta1 = 0.9, .beta2 = 0.99},
    {.kind = Kind::kMuon, .name = "muon", .learning_rate = 1e-3, .weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.95,
     .epsilon = 1e-8, .momentum = 0.95,
     .whole_tensors = true},
}};

}  // namespace

const OptimizerRule& rule_of(OptimizerKind kind) {
  return *std::find_if(kRules.begin(), kRules.end(), [&](const OptimizerRule& rule) { return rule.kind == kind; });
}

std::string_view to_text(OptimizerKind optimizer) { return rule_of(optimizer).name; }

Result<OptimizerKind> parse_optimizer(std::string_view text) {
  for (const OptimizerRule& rule : kRules) {
    if (rule.name == text) return rule.kind;
  }
  std::vector<std::string> names;
  for (const OptimizerRule& rule : kRules) names.emplace_back(rule.name);
  const std::vector<std::string> near = near_names(text, names);
  return fail({.kind = ErrorKind::kUnknownName,
               .what = "unknown optimizer '" + std::string(text.substr(0, 80)) + "'",
               .where = {},
               .remedy = near.empty() ? "use one of " + optimizer_names() : did_you_mean(text, near)});
}

std::string optimizer_names() {
  std::string names;
  for (const OptimizerRule& rule : kRules) names += (names.empty() ? "" : ", ") + std::string(rule.name);
  return names;
}

}  // namespace plimsoll
