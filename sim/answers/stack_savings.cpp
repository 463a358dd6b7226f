#include "sim/answers/stack_savings.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/answers/stack_question.h"
#include "sim/planner/smaller_batch.h"
#include "sim/stack/check_adapters.h"
#include "sim/stack/check_kernels.h"

namespace plimsoll {
namespace {

constexpr const char* kRecompute = "--recompute full";
constexpr const char* kFusedHead = "--fused-head";
constexpr const char* kPrecomputed = "--reference precomputed";

/// Weights and states on the device, of which neither a smaller batch nor recomputation takes any.
Bytes states_of(const FitAnswer& answer) {
  return answer.memory.empty() ? Bytes(0) : answer.memory.front().by_category.parameters + answer.memory.front().by_category.optimizer;
}

Bytes room_of(const FitAnswer& answer) { return answer.memory.empty() ? Bytes(0) : answer.memory.front().usable; }

/// Whose every prediction takes seconds.
bool is_large_mixture(const ModelSpec& spec) { return spec.layers * spec.experts.count > 2000; }

std::optional<ChangeAnswer> if_it_fits(const Question& question, std::string what) {
  const auto verdict = answer_for_stack(question, StackDetail::kVerdict);
  if (!verdict || !verdict->fits) return std::nullopt;
  const auto answer = answer_for_stack(question, StackDetail::kAll);
  if (!answer || !answer->fits) return std::nullopt;
  return ChangeAnswer{.what = std::move(what), .strategy = answer->strategy.name, .step_seconds = answer->step_seconds, .more = {}};
}

std::optional<Question> recomputed(Question question) {
  if (question.stack->recomputation == Recomputation::kFull) return std::nullopt;
  question.stack->recomputation = Recomputation::kFull;
  return question;
}

/// The largest halved batch that fits, with as many sequences a step as before.
std::optional<ChangeAnswer> smaller_batch_of(Question question, const std::string& besides) {
  for (auto recipe = halved_batch(question.recipe); recipe; recipe = halved_batch(*recipe)) {
    question.recipe = *recipe;
    if (auto change = if_it_fits(question, besides + batch_options(*recipe))) return change;
  }
  return std::nullopt;
}

/// Logits that are never whole, where transformers' models have them so far.
std::optional<Question> with_fused_head(Question question) {
  StackSetup& setup = *question.stack;
  if (setup.fused_head) return std::nullopt;
  setup.fused_head = true;
  return check_fused_head(question.spec, setup) ? std::optional(std::move(question)) : std::nullopt;
}

/// Without the frozen copy of the model, whose log-probabilities were computed before training.
std::optional<Question> without_copy(Question question) {
  PreferenceSetup& preference = question.stack->preference;
  if (!preference.exists() || preference.writes() || reference_of(preference, question.recipe.adapter.exists()) != ReferencePass::kCopy) return std::nullopt;
  preference.reference = ReferencePass::kPrecomputed;
  return question;
}

std::string offload_options(const StackSetup& setup) {
  if (setup.optimizer == Home::kDevice) return "--offload params:cpu";
  return setup.parameters == Home::kDevice ? "--offload optimizer:cpu" : "--offload params:cpu optimizer:cpu";
}

/// States wait in host memory, and weights with them where every GPU has but a share: DeepSpeed's ZeRO and PyTorch's FSDP, as they offload.
std::optional<Question> offloaded(Question question) {
  StackSetup& setup = *question.stack;
  const bool zero = setup.stack == Stack::kDeepspeed && setup.zero > 0;
  if ((!zero && !is_fsdp(setup)) || cuts_layers(setup) || setup.parameters != Home::kDevice || setup.optimizer != Home::kDevice) return std::nullopt;
  if (zero) setup.optimizer = Home::kHost;
  if (setup.zero == 3 || !zero) setup.parameters = Home::kHost;
  return question;
}

std::optional<ChangeAnswer> by_offloading(const Question& question) {
  const auto away = offloaded(question);
  if (!away) return std::nullopt;
  const std::string options = offload_options(*away->stack);
  if (auto change = if_it_fits(*away, options)) return change;
  const auto kept = recomputed(*away);
  return kept ? if_it_fits(*kept, fmt::format("{} {}", options, kRecompute)) : std::nullopt;
}

/// Adapters beside a model in 4 bits: the frozen one that there is, or this one. Both train otherwise than was asked.
std::optional<ChangeAnswer> in_four_bits(Question question) {
  AdapterSpec& adapter = question.recipe.adapter;
  const bool beside = adapter.exists(), encoded = is_encoded(adapter);
  if (question.stack->stack != Stack::kPytorch || encoded || (!beside && !takes_adapters(question.spec))) return std::nullopt;
  constexpr std::int64_t kRank = 16;
  if (!beside) adapter = {kRank, 2.0 * kRank, adapter_targets(question.spec), BaseStorage::kNf4};
  adapter.base = BaseStorage::kNf4;
  std::string options = beside ? "--base-bits 4" : "--lora 16 --base-bits 4";
  if (question.stack->recomputation != Recomputation::kFull) options += fmt::format(" {}", kRecompute);
  question.stack->recomputation = Recomputation::kFull;
  if (auto change = if_it_fits(question, options)) return change;
  const auto fused = with_fused_head(question);
  return fused ? if_it_fits(*fused, fmt::format("{} {}", options, kFusedHead)) : std::nullopt;
}

std::optional<ChangeAnswer> with_own_plan(Question question, std::size_t instruction_budget) {
  if (!could_be_ours(question)) return std::nullopt;
  question.stack.reset();
  const auto best = best_candidate(question, {.instruction_budget = instruction_budget});
  if (!best || !best->fits() || !best->step) return std::nullopt;
  return ChangeAnswer{.what = "a plan of plimsoll's own, without --stack", .strategy = best->strategy.name, .step_seconds = to_seconds(*best->step), .more = {},
                      .at_most = true};
}

/// The fewest GPUs, of up to eight nodes, that share states, gradients and weights out (FSDP, ZeRO-3), or what was said to be shared, with
/// as many sequences each.
std::optional<ChangeAnswer> with_more_gpus(Question question, const FitAnswer& answer, const std::string& besides) {
  constexpr std::int64_t kMost = 64;
  StackSetup& setup = *question.stack;
  const bool shares = setup.stack == Stack::kPytorch || setup.stack == Stack::kDeepspeed;
  if (!shares || setup.tensor_ranks > 1 || setup.stages > 1 || setup.context_ranks > 1) return std::nullopt;
  const std::int64_t before = setup.data_ranks;
  const bool prepared = prepares_kbit(setup);
  if (setup.zero == 0) setup.zero = 3;
  for (setup.data_ranks = 2 * before; setup.data_ranks <= kMost; setup.data_ranks *= 2) {
    if (states_of(answer).count / (setup.data_ranks / before) > room_of(answer).count) continue;
    // Checkpoints that PEFT's preparation turns on have to be asked for where it does not run.
    const bool loses_checkpoints = prepared && !prepares_kbit(setup) && is_encoded(question.recipe.adapter) &&
                                   setup.recomputation == Recomputation::kFull && besides.empty();
    auto change = if_it_fits(question, fmt::format("{}--dp {} --zero {}{}", besides, setup.data_ranks, setup.zero,
                                                   loses_checkpoints ? fmt::format(" {}", kRecompute) : std::string()));
    if (!change) continue;
    change->more = question.machine->gpu.memory * (setup.data_ranks - before);
    return change;
  }
  return std::nullopt;
}

}  // namespace

std::vector<ChangeAnswer> stack_growth(const Question& question, const FitAnswer& answer) {
  std::vector<ChangeAnswer> changes;
  if (is_large_mixture(question.spec)) return changes;
  if (auto change = with_more_gpus(question, answer, "")) changes.push_back(std::move(*change));
  const auto kept = recomputed(question);
  const bool alone = std::any_of(answer.smaller.begin(), answer.smaller.end(), [](const ChangeAnswer& saved) { return saved.what == kRecompute; });
  if (!changes.empty() || !kept || alone) return changes;
  if (auto change = with_more_gpus(*kept, answer, std::string(kRecompute) + " ")) changes.push_back(std::move(*change));
  return changes;
}

std::vector<ChangeAnswer> stack_savings(const Question& question, const FitAnswer& answer, std::size_t instruction_budget) {
  std::vector<ChangeAnswer> changes;
  const auto add = [&](std::optional<ChangeAnswer> change) {
    if (change) changes.push_back(std::move(*change));
  };
  const auto kept = recomputed(question);
  const bool room = states_of(answer) < room_of(answer), quick = room && !is_large_mixture(question.spec);
  const auto fused = quick ? with_fused_head(question) : std::nullopt;
  const auto both = quick && kept ? with_fused_head(*kept) : std::nullopt;
  if (const auto alone = without_copy(question)) add(if_it_fits(*alone, kPrecomputed));
  if (kept && room) add(if_it_fits(*kept, kRecompute));
  if (fused) add(if_it_fits(*fused, kFusedHead));
  if (both && changes.empty()) add(if_it_fits(*both, fmt::format("{} {}", kRecompute, kFusedHead)));
  if (quick) add(smaller_batch_of(question, ""));
  if (both && changes.empty()) add(smaller_batch_of(*both, fmt::format("{} {} ", kRecompute, kFusedHead)));
  if (kept && !both && quick && changes.empty()) add(smaller_batch_of(*kept, std::string(kRecompute) + " "));
  if (!is_large_mixture(question.spec)) add(by_offloading(question));
  if (changes.empty() && !is_large_mixture(question.spec)) add(in_four_bits(question));
  add(with_own_plan(question, instruction_budget));
  return changes;
}

}  // namespace plimsoll
