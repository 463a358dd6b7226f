#include "sim/answers/best_settings.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "formats/models/resolve_model.h"
#include "sim/answers/stack_question.h"

namespace plimsoll {
namespace {

Question under(Stack stack, const std::string& model, const std::string& gpu, std::int64_t gpus, std::int64_t sequence = 512) {
  MachineOptions options;
  options.ram = kGiB * 160;
  const ModuleStyle modules = stack == Stack::kMegatron ? ModuleStyle::kMegatron : ModuleStyle::kHuggingFace;
  Question question{.spec = resolve_model(model).value(),
                    .recipe = {.precision = Precision::kBf16Mixed, .sequence = sequence},
                    .stack = StackSetup{.stack = stack, .modules = modules, .data_ranks = gpus}};
  return on_machine(std::move(question), {find_gpu(built_in_gpu_catalogue(), gpu).value(), options}).value();
}

bool certainly_fits(const FitAnswer& answer) { return answer.fits && answer.memory.front().certain; }

/// The fastest setting that certainly fits, by walking through all of them.
double fastest_by_hand(Question question, std::int64_t each) {
  double fastest = 1e9;
  for (const int zero : {0, 1, 2, 3}) {
    for (const Recomputation rule : {Recomputation::kNone, Recomputation::kFull}) {
      for (std::int64_t size = 1; size <= each; ++size) {
        if (each % size != 0) continue;
        question.stack->zero = zero;
        question.stack->recomputation = rule;
        question.recipe.micro_batch = size;
        question.recipe.accumulate = each / size;
        const auto answer = answer_for_stack(question);
        if (answer && certainly_fits(*answer)) fastest = std::min(fastest, answer->step_seconds);
      }
    }
  }
  return fastest;
}

}  // namespace

TEST_CASE("the best settings are the fastest of all that certainly fit") {
  const Question question = under(Stack::kPytorch, "gpt2-large", "RTX 3090", 2);
  const SettingsAnswer found = best_settings(question, {.gpus = 2, .global_batch = 24}).value();
  CHECK(found.best.step_seconds == fastest_by_hand(question, 12));
  CHECK(certainly_fits(found.best));
  CHECK(found.settings == 4 * 2 * 6);
  CHECK(found.looked_at < found.settings);  // what is larger than what does not fit is not looked at
  CHECK(found.fitting < found.looked_at);
  const Recipe& recipe = found.question.recipe;
  CHECK(recipe.micro_batch * recipe.accumulate == 12);
  CHECK(found.floor_seconds > 0);
  CHECK(found.floor_seconds < found.best.step_seconds);
}

TEST_CASE("of the settings that are listed none is faster and smaller, and each is what fit says of it") {
  const Question question = under(Stack::kDeepspeed, "gpt2-large", "RTX 3090", 2);
  const SettingsAnswer found = best_settings(question, {.gpus = 2, .global_batch = 8}).value();
  REQUIRE(found.front.size() > 2);
  for (std::size_t i = 1; i < found.front.size(); ++i) {
    CHECK(found.front[i - 1].look.step_seconds <= found.front[i].look.step_seconds);
    CHECK(found.front[i - 1].look.device > found.front[i].look.device);
    CHECK(found.front[i].look.fits);
  }
  const bool offloads = std::any_of(found.front.begin(), found.front.end(),
                                    [](const SettingAnswer& one) { return one.options.find("--offload optimizer:cpu") != std::string::npos && one.look.host.count > 0; });
  CHECK(offloads);
  CHECK(answer_for_stack(found.question).value().step_seconds == found.best.step_seconds);
  CHECK(settings_options(found.question, {.gpus = 2, .global_batch = 8}) == found.chosen.options);
}

TEST_CASE("what is said stays, and the answer does not depend on threads") {
  Question question = under(Stack::kDeepspeed, "gpt2", "RTX 3090", 2);
  question.stack->recomputation = Recomputation::kFull;
  OpenSettings open{.gpus = 2, .global_batch = 16, .homes = false};
  open.said.zero = 3;
  open.said.micro_batch = 2;
  open.said.recomputation = Recomputation::kFull;
  const SettingsAnswer found = best_settings(question, open).value();
  CHECK(found.settings == 1);
  CHECK(found.chosen.options == "--dp 2 --accumulate 4");
  CHECK(found.question.stack->zero == 3);
  open.said = {};
  open.homes = true;
  CHECK(best_settings(question, open, {}, 1).value().chosen.options == best_settings(question, open, {}, 2).value().chosen.options);
}

TEST_CASE("where nothing fits the smallest is told, and what does not divide is refused") {
  Question question = under(Stack::kPytorch, "gpt2-xl", "RTX 2060 6GB", 1);
  question.recipe.precision = Precision::kFp16Mixed;
  const SettingsAnswer found = best_settings(question, {.gpus = 1, .global_batch = 4}).value();
  CHECK_FALSE(found.best.fits);
  CHECK(found.front.empty());
  CHECK(found.fitting == 0);
  const auto odd = best_settings(under(Stack::kPytorch, "gpt2", "RTX 3090", 4), {.gpus = 4, .global_batch = 6});
  REQUIRE_FALSE(odd);
  CHECK(odd.error().where == "--global-batch");
}

TEST_CASE("a step of many micro-batches is looked at as two short ones, and taken to be what fit says of it") {
  for (const int zero : {0, 3}) {
    Question question = under(Stack::kPytorch, "gpt2", "RTX 3090", 2);
    question.stack->zero = zero;
    question.recipe.micro_batch = 2;
    question.recipe.accumulate = 40;
    const SettingLook look = look_at(question).value();
    const FitAnswer whole = answer_for_stack(question).value();
    CHECK(look.step_seconds == Approx(whole.step_seconds).epsilon(1e-6));
    CHECK(look.device == whole.memory.front().peak);
    CHECK(look.fits == whole.fits);
  }
  Question stages = under(Stack::kMegatron, "gpt2", "A100 80GB SXM4", 2);
  stages.stack->stages = 2;
  stages.recipe.accumulate = 32;
  CHECK(look_at(stages).value().step_seconds == Approx(answer_for_stack(stages).value().step_seconds).epsilon(5e-3));  // launches hide unlike parts
}

// FSDP of two ranks needs 8 bytes of each of 8.03 B parameters on a GPU of 24 GB, 60 GiB; waiting in host memory they come block by block.
TEST_CASE("FSDP's shards wait in host memory where nothing else fits") {
  const Question question = under(Stack::kPytorch, "llama3-8b", "RTX 3090", 2);
  const SettingsAnswer found = best_settings(question, {.gpus = 2, .global_batch = 6}).value();
  CHECK(found.best.fits);
  CHECK_THAT(found.chosen.options, Catch::Contains("--zero 3 --offload params:cpu"));
  OpenSettings said{.gpus = 2, .global_batch = 6, .homes = false};
  CHECK_FALSE(best_settings(question, said).value().best.fits);
}

TEST_CASE("a mixed precision that a GPU lacks is refused with its reason, not as settings that do not exist") {
  const auto refused = best_settings(under(Stack::kDeepspeed, "gpt2", "V100 SXM2 16GB", 1), {.gpus = 1, .global_batch = 4});
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().what, Catch::Contains("bf16"));
}

// 48 sequences a rank: of micro-batches that are powers of two none is larger than 16, and the largest that fits has the fewest launches.
TEST_CASE("of Megatron-LM's fastest layout micro-batches of every size are looked at") {
  const Question question = under(Stack::kMegatron, "bert-base", "A100 80GB SXM4", 2, 128);
  const SettingsAnswer found = best_settings(question, {.gpus = 2, .global_batch = 96}).value();
  Question whole = found.question;
  whole.recipe.micro_batch = 48 * found.question.stack->stages * found.question.stack->tensor_ranks;
  whole.recipe.accumulate = 1;
  CHECK(found.best.step_seconds <= answer_for_stack(whole).value().step_seconds);
  CHECK(found.question.recipe.micro_batch > 16);
}

TEST_CASE("where shards in host memory are not told either the nearest setting is") {
  Question question = under(Stack::kPytorch, "qwen2.5-3b", "RTX 4090", 2, 1024);
  question.stack->preference.method = PreferenceMethod::kDpo;
  question.stack->fused_head = true;
  const SettingsAnswer found = best_settings(question, {.gpus = 2, .global_batch = 16}).value();
  CHECK_FALSE(found.best.fits);
  CHECK(found.chosen.look.short_of > Bytes(0));
}

TEST_CASE("Megatron-LM's layouts are compared coarsely, and what is chosen is predicted in full") {
  const Question question = under(Stack::kMegatron, "gpt3-6.7b", "A100 80GB SXM4", 8, 2048);
  const SettingsAnswer found = best_settings(question, {.gpus = 8, .global_batch = 64}).value();
  CHECK(found.coarse);
  CHECK(found.settings > found.looked_at);
  CHECK(certainly_fits(found.best));
  CHECK(answer_for_stack(found.question).value().step_seconds == found.best.step_seconds);
  CHECK(found.floor_seconds < found.best.step_seconds);
  for (const std::int64_t tensor : {1, 2, 4, 8}) {
    for (const std::int64_t size : {1, 2, 4}) {
      for (const Recomputation rule : {Recomputation::kNone, Recomputation::kFull}) {
        ParallelLayout layout{.data_ranks = 8 / tensor, .tensor_ranks = tensor, .zero = tensor < 8 ? 1 : 0, .sequence_parallel = tensor > 1};
        layout.micro_batch = size;
        layout.global_batch = 64;
        layout.recomputation = rule;
        const auto by_hand = answer_for_stack(under_layout(question, layout));
        if (by_hand && certainly_fits(*by_hand)) CHECK(found.best.step_seconds <= by_hand->step_seconds);
      }
    }
  }
}

}  // namespace plimsoll
