#include "core/model/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "core/base/nearest_names.h"
#include "core/model/loss_tokens.h"

namespace plimsoll {
namespace {

template <typename Enum, std::size_t N>
using Names = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Names<Precision, 6> kPrecisions{{{Precision::kFp32, "fp32"},
                                           {Precision::kFp16Mixed, "fp16-mixed"},
                                           {Precision::kBf16Mixed, "bf16-mixed"},
                                           {Precision::kFp64, "fp64"},
                                           {Precision::kBf16, "bf16"},
                                           {Precision::kTf32, "tf32"}}};
constexpr Names<LrSchedule, 3> kSchedules{
    {{LrSchedule::kConstant, "constant"}, {LrSchedule::kLinear, "linear"}, {LrSchedule::kCosine, "cosine"}}};
constexpr Names<MatmulLibrary, 2> kLibraries{
    {{MatmulLibrary::kOneDnn, "onednn"}, {MatmulLibrary::kOpenBlas, "openblas"}}};

template <typename Enum, std::size_t N>
std::string_view name_in(const Names<Enum, N>& names, Enum value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "?";
}

template <typename Enum, std::size_t N>
Result<Enum> value_in(const Names<Enum, N>& names, std::string_view option, std::string_view text) {
  std::vector<std::string> known;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    known.emplace_back(name);
  }
  return fail({.kind = ErrorKind::kUnknownName,
               .what = fmt::format("unknown {} '{}'", option, text),
               .where = {},
               .remedy = did_you_mean(text, known)});
}

/// Only where there is one, so that other recipes keep their digests.
std::string adapter_text(const AdapterSpec& adapter) {
  if (!adapter.exists()) return {};
  return fmt::format(" lora_rank={} lora_alpha={:.17g} lora_targets={} lora_base={}", adapter.rank, adapter.alpha,
                     to_text(adapter.targets), to_text(adapter.base));
}

tl::unexpected<Error> bad(std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

Result<void> validate_routing(const Recipe& recipe, const ModelSpec& spec) {
  const ExpertSpec& experts = spec.experts;
  const std::int64_t tokens = recipe.tokens_per_micro_batch();
  if (experts.count == 0) return {};
  if (tokens % experts.groups != 0) {
    return bad(fmt::format("{} tokens of a micro-batch cannot be divided into groups={}", tokens, experts.groups));
  }
  if (tokens * experts.per_token > std::numeric_limits<std::int32_t>::max()) {
    return bad("a micro-batch sends more than 2^31 tokens");
  }
  const double even = static_cast<double>(experts.per_token * (tokens / experts.groups)) / static_cast<double>(experts.count);
  if (experts.capacity == 0 || experts.capacity * even >= 1) return {};
  return bad(fmt::format("capacity={} lets no expert take a whole token of a group of {}", experts.capacity,
                         tokens / experts.groups),
             fmt::format("use capacity={:.3g} or more, larger or fewer groups, or fewer experts", 1 / even));
}

Result<void> validate_target(const Recipe& recipe, const ModelSpec& spec) {
  if (recipe.target_sequence == 0) return {};
  if (spec.decoder_layers == 0) {
    return bad(fmt::format("{} has no decoder beside its encoder, to which --target-seq belongs", spec.name), "leave --target-seq out");
  }
  if (recipe.target_sequence > 0 && recipe.target_sequence <= spec.max_positions) return {};
  return bad(fmt::format("--target-seq {} does not lie between 1 and {}", recipe.target_sequence, spec.max_positions));
}

/// What only some rules read; AdamW's line is as it was when there was no other.
std::string canonical_text_of_rule(const Recipe& r) {
  const OptimizerRule& rule = rule_of(r.optimizer);
  std::string text;
  if (rule.momentum > 0) text += fmt::format(" momentum={:.17g}", r.momentum);
  if (rule.nesterov) text += fmt::format(" nesterov={}", r.nesterov);
  if (rule.trust > 0) text += fmt::format(" trust={:.17g}", r.trust);
  if (rule.relative_step) text += fmt::format(" relative_step={}", r.relative_step);
  return text;
}

}  // namespace

Recipe with_optimizer(Recipe recipe, OptimizerKind optimizer) {
  const OptimizerRule& rule = rule_of(optimizer);
  recipe.optimizer = optimizer;
  recipe.learning_rate = rule.learning_rate;
  recipe.weight_decay = rule.weight_decay;
  if (rule.reads_betas()) recipe.beta1 = rule.beta1, recipe.beta2 = rule.beta2;
  if (rule.epsilon > 0) recipe.epsilon = rule.epsilon;
  if (rule.momentum > 0) recipe.momentum = rule.momentum;
  if (rule.trust > 0) recipe.trust = rule.trust;
  return recipe;
}

std::int64_t target_tokens(const Recipe& recipe) {
  return recipe.target_sequence > 0 ? recipe.target_sequence : recipe.sequence;
}

DType compute_dtype(Precision precision) {
  switch (precision) {
    case Precision::kFp16Mixed: return DType::kFp16;
    case Precision::kBf16Mixed:
    case Precision::kBf16: return DType::kBf16;
    case Precision::kFp64: return DType::kFp64;
    case Precision::kTf32:
    case Precision::kFp32: return DType::kFp32;
  }
  return DType::kFp32;
}

DType product_dtype(Precision precision) { return precision == Precision::kTf32 ? DType::kTf32 : compute_dtype(precision); }

DType state_dtype(Precision precision) { return precision == Precision::kBf16 ? DType::kBf16 : sum_dtype(precision); }

DType sum_dtype(Precision precision) { return precision == Precision::kFp64 ? DType::kFp64 : DType::kFp32; }

bool has_master_copy(Precision precision) { return compute_dtype(precision) != state_dtype(precision); }

bool scales_loss(Precision precision) { return precision == Precision::kFp16Mixed; }

bool awaits_norm(const Recipe& recipe) { return recipe.clip > 0 || scales_loss(recipe.precision); }

Result<void> validate(const Recipe& recipe, const ModelSpec& spec) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  for (const auto& [key, value] : {std::pair{"batch", recipe.micro_batch}, std::pair{"accumulate", recipe.accumulate},
                                   std::pair{"seq", recipe.sequence}}) {
    if (value <= 0 || value > kMost) return bad(fmt::format("--{} must lie between 1 and {}, not {}", key, kMost, value));
  }
  if (recipe.tokens_per_micro_batch() > (std::int64_t{1} << 31)) return bad("a micro-batch has more than 2^31 tokens");
  if (spec.reads_images() && recipe.sequence != spec.max_positions) {
    return bad(fmt::format("the images of {} are sequences of {} tokens, not {}", spec.name, spec.max_positions, recipe.sequence),
               "leave --seq out");
  }
  if (recipe.sequence > spec.max_positions) {
    return bad(fmt::format("sequence length {} is beyond the {} positions of {}", recipe.sequence, spec.max_positions, spec.name),
               fmt::format("use --seq {} or less", spec.max_positions));
  }
  if (auto target = validate_target(recipe, spec); !target) return target;
  if (auto routing = validate_routing(recipe, spec); !routing) return routing;
  const auto in_unit = [](double x) { return x >= 0 && x < 1; };
  if (!in_unit(recipe.beta1) || !in_unit(recipe.beta2)) return bad("--betas must lie in [0, 1)");
  if (!in_unit(recipe.momentum)) return bad("--momentum must lie in [0, 1)");
  if (recipe.nesterov && recipe.momentum == 0) return bad("--nesterov looks ahead by the momentum, which is 0");
  if (!(recipe.trust > 0) || !std::isfinite(recipe.trust)) return bad("--trust must be finite and above 0");
  if (!(recipe.epsilon > 0) || !(recipe.learning_rate >= 0) || !(recipe.weight_decay >= 0) || !(recipe.clip >= 0) ||
      !std::isfinite(recipe.learning_rate + recipe.epsilon + recipe.weight_decay + recipe.clip)) {
    return bad("--lr, --weight-decay, --eps and --clip must be finite and not negative");
  }
  if (recipe.delay < 0 || recipe.delay > 1) return bad(fmt::format("updates can be delayed by 1 step, not by {}", recipe.delay));
  if (recipe.delay > 0 && rule_of(recipe.optimizer).whole_tensors) {
    return bad(fmt::format("updates of the optimizer {} cannot be delayed", to_text(recipe.optimizer)),
               "use a rule that treats every element alike: adamw, adam, lion, momentum or sgd");
  }
  if (recipe.schedule != LrSchedule::kConstant && recipe.total_steps <= 0) {
    return bad(fmt::format("--schedule {} needs the number of steps", to_text(recipe.schedule)), "add --steps N");
  }
  return validate(recipe.adapter, spec);
}

double learning_rate_at(const Recipe& recipe, std::int64_t step) {
  const double peak = recipe.learning_rate;
  if (step < recipe.warmup_steps) return peak * static_cast<double>(step + 1) / static_cast<double>(recipe.warmup_steps);
  if (recipe.schedule == LrSchedule::kConstant) return peak;
  const double floor = 0.1 * peak;
  const double span = static_cast<double>(std::max<std::int64_t>(1, recipe.total_steps - recipe.warmup_steps));
  const double done = std::min(1.0, static_cast<double>(step - recipe.warmup_steps) / span);
  const double left = recipe.schedule == LrSchedule::kLinear ? 1.0 - done : 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  return floor + (peak - floor) * left;
}

std::string_view to_text(Precision precision) { return name_in(kPrecisions, precision); }
std::string_view to_text(LrSchedule schedule) { return name_in(kSchedules, schedule); }
std::string_view to_text(MatmulLibrary library) { return name_in(kLibraries, library); }
Result<Precision> parse_precision(std::string_view text) { return value_in(kPrecisions, "precision", text); }
Result<LrSchedule> parse_lr_schedule(std::string_view text) { return value_in(kSchedules, "schedule", text); }
Result<MatmulLibrary> parse_matmul(std::string_view text) { return value_in(kLibraries, "matrix-product library", text); }

std::string canonical_text(const Recipe& r) {
  std::string text = fmt::format(
      "precision={} matmul={} optimizer={} micro_batch={} accumulate={} sequence={} lr={:.17g} schedule={} "
      "warmup={} total={} decay={:.17g} beta1={:.17g} beta2={:.17g} epsilon={:.17g} clip={:.17g} seed={}",
      to_text(r.precision), to_text(r.matmul), to_text(r.optimizer), r.micro_batch, r.accumulate,
      r.sequence, r.learning_rate, to_text(r.schedule), r.warmup_steps, r.total_steps, r.weight_decay, r.beta1, r.beta2,
      r.epsilon, r.clip, r.seed);
  if (r.target_sequence > 0) text += fmt::format(" target_sequence={}", r.target_sequence);
  if (r.delay > 0) text += fmt::format(" delay={}", r.delay);
  if (scales_loss(r.precision)) text += " loss_scale=" + to_text(r.loss_scaling);
  return text + canonical_text_of_rule(r) + adapter_text(r.adapter);
}

std::string numerics_digest(const ModelSpec& spec, const Recipe& recipe) {
  std::string text = canonical_text(spec) + "\n" + canonical_text(recipe);
  // A tied matrix's gradient was once summed micro-batch by micro-batch, which rounds otherwise.
  if (spec.tied_head && recipe.accumulate > 1) text += "\ntied_gradient=sum of the head's + sum of the embedding's";
  // The head's gradient and the loss were once summed over all rows at once, which rounds otherwise.
  if (const std::int64_t tokens = loss_tokens(spec, recipe); tokens > 0) text += fmt::format("\nloss_tokens={}", tokens);
  return digest_of(text);
}

}  // namespace plimsoll
