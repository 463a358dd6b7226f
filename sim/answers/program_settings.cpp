#include "sim/answers/program_settings.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

constexpr std::int64_t kMostSequences = 1024;  ///< of a micro-batch that is looked at

/// What waits elsewhere than on the GPU.
struct Homes {
  Home parameters = Home::kDevice;
  Home optimizer = Home::kDevice;
  bool automatic = false;  ///< Gemini decides

  [[nodiscard]] bool away() const { return parameters != Home::kDevice || optimizer != Home::kDevice || automatic; }
};

std::vector<int> zero_stages(const Question& question, const OpenSettings& open) {
  if (open.said.zero) return {*open.said.zero};
  if (open.shards_on_host) return {3};
  switch (question.stack->stack) {
    case Stack::kDeepspeed: return {0, 1, 2, 3};
    case Stack::kPytorch: return open.gpus > 1 ? std::vector<int>{0, 1, 2, 3} : std::vector<int>{0};
    case Stack::kColossalai: return {question.stack->zero};
    default: return open.gpus > 1 ? std::vector<int>{0, 1} : std::vector<int>{0};
  }
}

/// Where a program can have states and parameters: ZeRO-Offload from stage 1 on, ZeRO-Infinity with stage 3, Gemini's chunks.
std::vector<Homes> homes_of(const Question& question, const OpenSettings& open, int zero) {
  if (open.shards_on_host) return {{.parameters = Home::kHost}};
  const Stack stack = question.stack->stack;
  constexpr Homes kStates{.optimizer = Home::kHost}, kAll{.parameters = Home::kHost, .optimizer = Home::kHost};
  if (stack == Stack::kColossalai) return {{}, kStates, kAll, {.automatic = true}};
  if (stack != Stack::kDeepspeed || zero == 0) return {{}};
  if (zero < 3) return {{}, kStates};
  std::vector<Homes> all{{}, kStates, kAll};
  if (question.machine && question.machine->options.ssd) {
    for (const Home parameters : {Home::kDevice, Home::kHost, Home::kDrive}) all.push_back({.parameters = parameters, .optimizer = Home::kDrive});
  }
  return all;
}

std::vector<Question> shared_out(const Question& question, const OpenSettings& open) {
  std::vector<Question> all;
  for (const int zero : zero_stages(question, open)) {
    Question asked = question;
    asked.stack->zero = zero;
    if (!open.homes) {
      all.push_back(asked);
      continue;
    }
    for (const Homes& homes : homes_of(question, open, zero)) {
      const bool alone = open.gpus == 1 && zero > 0 && !homes.away();  // shares nothing out
      if (alone && !open.said.zero) continue;
      asked.stack->parameters = homes.parameters;
      asked.stack->optimizer = homes.optimizer;
      asked.stack->automatic_placement = homes.automatic;
      all.push_back(asked);
    }
  }
  return all;
}

std::vector<Recomputation> recomputations(const Question& question, const OpenSettings& open) {
  if (open.said.recomputation) return {question.stack->recomputation};
  const ModuleStyle modules = question.stack->modules;
  if (modules == ModuleStyle::kTorchTune || modules == ModuleStyle::kMegatron) return {Recomputation::kNone, Recomputation::kSelective, Recomputation::kFull};
  return {Recomputation::kNone, Recomputation::kFull};  // others' trainers have no option for selective ones
}

/// What waits where.
std::string home_options(const StackSetup& setup) {
  std::string text;
  const std::pair<const char*, Home> homes[] = {{"params", setup.parameters}, {"optimizer", setup.optimizer}};
  for (const auto& [what, home] : homes) {
    if (home != Home::kDevice) text += fmt::format(" --offload {}:{}", what, home == Home::kHost ? "cpu" : "ssd");
  }
  return text + (setup.automatic_placement ? " --placement auto" : "");
}

struct Degree {
  const char* name;
  std::int64_t count;
  bool chosen;
};

/// "--dp 4 --tp 2 …": of degrees that are 1, none but the data ranks of several GPUs.
std::string degree_options(const StackSetup& setup, const LayoutRequest& said) {
  const Degree degrees[] = {{"tp", setup.tensor_ranks, !said.tensor_ranks},   {"pp", setup.stages, !said.stages},
                            {"chunks", setup.chunks, !said.chunks},           {"cp", setup.context_ranks, !said.context_ranks},
                            {"ep", setup.expert_ranks, !said.expert_ranks}};
  std::string text = gpus_of(setup) > 1 && !said.data_ranks ? fmt::format(" --dp {}", setup.data_ranks) : std::string();
  for (const Degree& degree : degrees) {
    if (degree.count > 1 && degree.chosen) text += fmt::format(" --{} {}", degree.name, degree.count);
  }
  return text + (setup.sequence_parallel && !said.sequence_parallel ? " --sequence-parallel" : "");
}

}  // namespace

bool chooses_layouts(const Question& question) { return question.stack->stack == Stack::kMegatron && question.machine.has_value(); }

std::vector<std::int64_t> micro_batch_sizes(std::int64_t share, const OpenSettings& open) {
  std::vector<std::int64_t> sizes;
  if (open.said.micro_batch) return share % *open.said.micro_batch == 0 ? std::vector{*open.said.micro_batch} : sizes;
  for (std::int64_t size = 1; size <= std::min(share, kMostSequences); ++size) {
    if (share % size == 0) sizes.push_back(size);
  }
  return sizes;
}

std::vector<Question> program_settings(const Question& question, const OpenSettings& open) {
  std::vector<Question> all;
  const std::int64_t data = question.stack->data_ranks;
  if (open.global_batch % data != 0) return all;
  const std::int64_t each = open.global_batch / data;
  for (const Question& shared : shared_out(question, open)) {
    for (const Recomputation rule : recomputations(question, open)) {
      for (const std::int64_t size : micro_batch_sizes(each, open)) {
        all.push_back(shared);
        all.back().stack->recomputation = rule;
        all.back().recipe.micro_batch = size;
        all.back().recipe.accumulate = each / size;
      }
    }
  }
  return all;
}

Question under_layout(Question question, const ParallelLayout& layout) {
  StackSetup& setup = *question.stack;
  setup.data_ranks = layout.data_ranks;
  setup.tensor_ranks = layout.tensor_ranks;
  setup.stages = layout.stages;
  setup.chunks = layout.chunks;
  setup.context_ranks = layout.context_ranks;
  setup.expert_ranks = layout.expert_ranks;
  setup.zero = layout.zero;
  setup.sequence_parallel = layout.sequence_parallel;
  setup.recomputation = layout.recomputation;
  question.recipe.micro_batch = layout.micro_batch;
  question.recipe.accumulate = layout.micro_batches();
  return question;
}

std::string settings_options(const Question& question, const OpenSettings& open) {
  const StackSetup& setup = *question.stack;
  std::string text = degree_options(setup, open.said);
  if (setup.zero > 0 && !open.said.zero) text += fmt::format(" --zero {}", setup.zero);
  if (open.homes) text += home_options(setup);
  if (!open.said.micro_batch) text += fmt::format(" --batch {}", question.recipe.micro_batch);
  text += fmt::format(" --accumulate {}", question.recipe.accumulate);
  if (!open.said.recomputation) text += fmt::format(" --recompute {}", to_text(setup.recomputation));
  return text.substr(1);
}

}  // namespace plimsoll
