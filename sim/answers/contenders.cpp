#include "sim/answers/contenders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "core/base/nearest_names.h"
#include "sim/answers/stack_question.h"
#include "sim/planner/parallel_for.h"
#include "sim/planner/systems/offload_system.h"

namespace plimsoll {
namespace {

/// Another program with settings that have a name here.
struct OtherProgram {
  std::string_view name;
  std::string_view words;
  Stack stack;
  Recomputation recomputation;
};

constexpr std::array<OtherProgram, 4> kPrograms{{
    {"pytorch", "PyTorch, everything on the GPU", Stack::kPytorch, Recomputation::kNone},
    {"pytorch-recompute", "PyTorch, activation checkpointing", Stack::kPytorch, Recomputation::kFull},
    {"deepspeed", "DeepSpeed without offloading", Stack::kDeepspeed, Recomputation::kNone},
    {"megatron", "Megatron-LM on one GPU", Stack::kMegatron, Recomputation::kNone},
}};

/// The question's own program, as it was asked, and with every block recomputed.
constexpr const char* kAsSaid = "as-said";
constexpr const char* kAsSaidRecomputed = "as-said-recompute";

ModuleStyle modules_of(Stack stack, const ModelSpec& spec) {
  if (stack == Stack::kMegatron) return ModuleStyle::kMegatron;
  if (spec.is_conv_net()) return ModuleStyle::kTorchVision;
  return spec.reads_images() ? ModuleStyle::kTimm : ModuleStyle::kHuggingFace;
}

/// What is asked under the same program stays as it was said; another program is asked as it usually is.
Question under_program(Question question, const OtherProgram& program) {
  StackSetup setup{.stack = program.stack, .modules = modules_of(program.stack, question.spec)};
  if (question.stack && question.stack->stack == program.stack) setup = *question.stack;
  setup.recomputation = program.recomputation;
  question.stack = setup;
  question.strategy = "auto";
  question.exact.reset();
  return question;
}

Result<Contender> as_said(const Question& question, const std::string& name) {
  if (!question.stack) return fail({.kind = ErrorKind::kInput, .what = "--stack names no other program"});
  Contender said{name, {}, question};
  if (name == kAsSaidRecomputed) said.question.stack->recomputation = Recomputation::kFull;
  said.words = fmt::format("{}: {}", to_text(said.question.stack->stack), describe(*said.question.stack));
  return said;
}

/// Another program does not learn as the question's does where that is not by texts, nor with adapters that are not LoRA's.
bool says_more_than_programs_know(const Question& question) {
  const StackSetup& setup = *question.stack;
  return setup.preference.exists() || (question.recipe.adapter.exists() && setup.adapter.method != AdapterMethod::kLora);
}

Result<Contender> contender(const Question& question, const std::string& name) {
  if (name == kAsSaid || name == kAsSaidRecomputed) return as_said(question, name);
  for (const OtherProgram& program : kPrograms) {
    if (program.name != name) continue;
    if (!question.machine)
      return fail({.kind = ErrorKind::kInput, .what = "other programs are foretold on a GPU of the catalogue"});
    if (question.stack && question.stack->stack != program.stack && says_more_than_programs_know(question))
      return fail({.kind = ErrorKind::kInput, .what = fmt::format("what is trained is told of {} alone", to_text(question.stack->stack))});
    return Contender{name, std::string(program.words), under_program(question, program)};
  }
  if (question.stack && !could_be_ours(question))
    return fail({.kind = ErrorKind::kInput, .what = "plans of plimsoll's own have one GPU, adapters of LoRA alone, and learn from texts"});
  Contender ours{name, name == "plimsoll" ? "the plan that plimsoll finds" : name, question};
  ours.question.stack.reset();
  ours.question.exact.reset();
  ours.question.strategy = name == "plimsoll" ? "auto" : name;
  const OffloadSystem* system = find_system(ours.question.strategy);
  if (system == nullptr) return ours;
  ours.words = system->paper;
  if (!system->refusal.empty()) return fail({.kind = ErrorKind::kInput, .what = std::string(system->refusal)});
  const auto recipe = recipe_for(*system, question.recipe);
  if (!recipe) return fail(recipe.error());
  ours.question.recipe = *recipe;
  return ours;
}

}  // namespace

std::vector<std::string> contender_names() {
  std::vector<std::string> names{kAsSaid, kAsSaidRecomputed};
  for (const OtherProgram& program : kPrograms) names.emplace_back(program.name);
  names.emplace_back("plimsoll");
  for (std::string& name : strategy_names()) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> usual_contenders() { return {"pytorch", "pytorch-recompute", "zero-offload", "gemini", "plimsoll"}; }

std::vector<std::string> contenders_as_said(const Question& question) {
  const bool recomputes = question.stack && question.stack->recomputation == Recomputation::kFull;
  std::vector<std::string> names{kAsSaid};
  if (!recomputes && !question.spec.is_conv_net()) names.emplace_back(kAsSaidRecomputed);
  names.emplace_back("plimsoll");
  return names;
}

Result<std::vector<Contender>> contenders(const Question& question, const std::vector<std::string>& names,
                                          std::vector<std::string>& left_out) {
  const std::vector<std::string> all = contender_names();
  std::vector<Contender> chosen;
  for (const std::string& name : names) {
    if (std::find(all.begin(), all.end(), name) == all.end()) {
      return fail({.kind = ErrorKind::kUnknownName, .what = fmt::format("unknown strategy '{}'", name), .where = "--strategies",
                   .remedy = did_you_mean(name, all)});
    }
    auto one = contender(question, name);
    if (one) chosen.push_back(std::move(*one));
    else left_out.push_back(fmt::format("{}: {}", name, one.error().what));
  }
  return chosen;
}

Result<std::vector<ContenderEdge>> largest_of(const std::vector<Contender>& all, const Growth& growth,
                                              const LargestOptions& options, std::vector<std::string>& left_out,
                                              const std::function<void(double)>& tell, unsigned threads) {
  std::vector<std::optional<Result<LargestFit>>> edges(all.size());
  std::atomic<std::size_t> done = 0;
  const auto find = [&](std::size_t i) {
    edges[i] = largest_fit(all[i].question, growth, options, {.threads = threads});
    if (tell) tell(static_cast<double>(++done) / static_cast<double>(all.size()));
  };
  parallel_for(all.size(), find, threads);
  std::vector<ContenderEdge> found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Result<LargestFit>& edge = *edges[i];
    if (edge) found.push_back({all[i].name, all[i].words, std::move(*edge)});
    else if (edge.error().kind == ErrorKind::kUncalibrated) return fail(edge.error());
    else left_out.push_back(fmt::format("{}: {}", all[i].name, edge.error().what));
  }
  return found;
}

}  // namespace plimsoll
