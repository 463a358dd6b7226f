#include "sim/answers/stack_savings.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "formats/models/resolve_model.h"
#include "sim/answers/room_to_fit.h"

namespace plimsoll {
namespace {

Question under_pytorch(const std::string& model, std::int64_t batch) {
  MachineOptions options;
  options.ram = kGiB * 64;
  Question question{.spec = resolve_model(model).value(),
                    .recipe = {.precision = Precision::kBf16Mixed, .micro_batch = batch, .sequence = 1024},
                    .stack = StackSetup{.stack = Stack::kPytorch, .modules = ModuleStyle::kHuggingFace}};
  return on_machine(std::move(question), {find_gpu(built_in_gpu_catalogue(), "RTX 4090").value(), options}).value();
}

FitAnswer told(const Question& question) { return answer_question(question, {.room_budget = kRoomBudget}).value(); }

std::vector<std::string> words_of(const FitAnswer& answer) {
  std::vector<std::string> words;
  for (const ChangeAnswer& change : answer.smaller) words.push_back(change.what);
  return words;
}

}  // namespace

// GPT-2 medium's states take 16 bytes of each of 0.355 B parameters, 5.3 GiB; what is left of 24 GB holds activations of some sequences.
TEST_CASE("of another program's training that does not fit, what would is named, and does") {
  Question question = under_pytorch("gpt2-medium", 8);
  const FitAnswer answer = told(question);
  REQUIRE_FALSE(answer.fits);
  const std::vector<std::string> words = words_of(answer);
  REQUIRE(words.size() == 4);
  CHECK(words[0] == "--recompute full");
  CHECK(words[1] == "--fused-head");
  CHECK_THAT(words[2], Catch::StartsWith("--batch ") && Catch::Contains(" --accumulate "));
  CHECK(words[3] == "a plan of plimsoll's own, without --stack");
  question.stack->recomputation = Recomputation::kFull;
  const FitAnswer recomputed = told(question);
  CHECK(recomputed.fits);
  CHECK(recomputed.step_seconds == answer.smaller[0].step_seconds);
  CHECK(recomputed.smaller.empty());
  question.stack->recomputation = Recomputation::kNone;
  question.stack->fused_head = true;
  CHECK(told(question).step_seconds == answer.smaller[1].step_seconds);
}

// 1.24 B parameters of 16 bytes leave 4.7 GiB, and 8 sequences have logits of 128,256 words in fp32, 3.9 GiB, twice.
TEST_CASE("where neither is enough two or all are tried together") {
  const auto first = [](std::int64_t batch, bool half_logits = false) {
    Question question = under_pytorch("llama-3.2-1b", batch);
    question.stack->half_logits = half_logits;  // a loop that computes the loss itself has no use for TRL's head
    const FitAnswer answer = told(question);
    REQUIRE_FALSE(answer.fits);
    REQUIRE(answer.smaller.size() == 2);
    return answer.smaller.front().what;
  };
  CHECK(first(8) == "--recompute full --fused-head");
  CHECK_THAT(first(32), Catch::StartsWith("--recompute full --fused-head --batch "));
  CHECK_THAT(first(16, true), Catch::StartsWith("--recompute full --batch "));
}

// 1.24 B parameters of 16 bytes are 18.4 GiB, and a frozen copy in fp32 4.6 more of 23.2.
TEST_CASE("a copy of the model to hold preferences against is what can be left out first") {
  Question question = under_pytorch("llama-3.2-1b", 1);
  *question.stack = {.stack = Stack::kPytorch, .modules = ModuleStyle::kHuggingFace, .recomputation = Recomputation::kFull, .fused_head = true};
  question.stack->preference.method = PreferenceMethod::kDpo;
  const FitAnswer answer = told(question);
  REQUIRE_FALSE(answer.fits);
  CHECK(words_of(answer) == std::vector<std::string>{"--reference precomputed"});
}

// 1.24 B parameters of 16 bytes under ZeRO-2 of one GPU, of which 12 can wait in host memory.
TEST_CASE("what DeepSpeed and FSDP may offload is offered, and fits so") {
  Question question = under_pytorch("llama-3.2-1b", 2);
  *question.stack = {.stack = Stack::kDeepspeed, .modules = ModuleStyle::kHuggingFace, .zero = 2};
  question.recipe.micro_batch = 4;
  const FitAnswer answer = told(question);
  REQUIRE_FALSE(answer.fits);
  const auto offers = [](const ChangeAnswer& change) { return change.what.starts_with("--offload optimizer:cpu"); };
  const auto away = std::find_if(answer.smaller.begin(), answer.smaller.end(), offers);
  REQUIRE(away != answer.smaller.end());
  question.stack->optimizer = Home::kHost;
  if (away->what.ends_with("--recompute full")) question.stack->recomputation = Recomputation::kFull;
  CHECK(told(question).fits);
  CHECK(told(question).step_seconds == away->step_seconds);

  Question shards = under_pytorch("llama3-8b", 1);
  shards.stack->zero = 3;
  shards.stack->data_ranks = 4;
  shards.machine->options.ram = kGiB * 256;  // 16 bytes of 8.03 B parameters and four programs
  const std::vector<std::string> words = words_of(told(shards));
  CHECK(std::any_of(words.begin(), words.end(), [](const std::string& what) { return what.starts_with("--offload params:cpu"); }));
  shards.stack->zero = 0;  // nothing is shared out, and PyTorch has nothing to offload
  const std::vector<std::string> whole = words_of(told(shards));
  CHECK(std::none_of(whole.begin(), whole.end(), [](const std::string& what) { return what.starts_with("--offload"); }));
}

// Weights, gradients and states of 8.03 B parameters take 16 bytes each: 120 GiB, whatever is recomputed.
TEST_CASE("where states alone are too many adapters beside 4 bits are left, and a plan of ours if memory around the GPU holds them") {
  const std::string adapters = "--lora 16 --base-bits 4 --recompute full";
  Question whole = under_pytorch("llama3-8b", 1);
  const FitAnswer large = told(whole);
  CHECK(words_of(large) == std::vector{adapters});
  whole.recipe.adapter = {16, 32, adapter_targets(whole.spec), BaseStorage::kNf4};
  whole.stack->recomputation = Recomputation::kFull;
  const FitAnswer beside = told(whole);
  CHECK(beside.fits);
  CHECK(beside.step_seconds == large.smaller[0].step_seconds);
  Question question = under_pytorch("gpt2-xl", 1);
  const FitAnswer answer = told(question);
  REQUIRE_FALSE(answer.fits);
  CHECK(words_of(answer) == std::vector<std::string>{adapters, "a plan of plimsoll's own, without --stack"});
  question.stack->data_ranks = 2;
  question.stack->zero = 0;
  CHECK(words_of(told(question)) == std::vector{adapters});
}

// 8.03 B frozen parameters take 15 GiB in two bytes, 7.4 in four bits with embedding and head in fp32; blocks of 14,336 tokens keep 9 GiB beside
// them, of 23.2. Where no block is recomputed and logits are whole, all three are advised.
TEST_CASE("a frozen model in two bytes is advised to be kept in 4 bits where nothing else is enough") {
  Question question = under_pytorch("llama3-8b", 1);
  question.recipe.adapter = {16, 32, adapter_targets(question.spec), BaseStorage::kCompute};
  question.stack->recomputation = Recomputation::kFull;
  question.stack->fused_head = true;
  question.spec.max_positions = question.recipe.sequence = 14336;
  const FitAnswer answer = told(question);
  REQUIRE_FALSE(answer.fits);
  REQUIRE_FALSE(answer.smaller.empty());
  CHECK(answer.smaller[0].what == "--base-bits 4");
  question.stack->recomputation = Recomputation::kNone;
  question.stack->fused_head = false;
  const FitAnswer neither = told(question);
  REQUIRE_FALSE(neither.smaller.empty());
  CHECK(neither.smaller[0].what == "--base-bits 4 --recompute full --fused-head");
}

// 25 GB of GPT-2 XL's states: half of them a GPU, 12.5, with gathered blocks, logits and what blocks keep, 23.2 GiB of two boards hold.
TEST_CASE("of a training that could be shared out the fewest GPUs are named that hold it, and do") {
  Question question = under_pytorch("gpt2-xl", 1);
  const FitAnswer answer = told(question);
  REQUIRE(answer.larger.size() == 1);
  CHECK(answer.larger[0].what == "--dp 2 --zero 3");
  CHECK(answer.larger[0].more == question.machine->gpu.memory);
  question.stack->data_ranks = 2;
  question.stack->zero = 3;
  const FitAnswer shared = told(question);
  CHECK(shared.fits);
  CHECK(shared.step_seconds == answer.larger[0].step_seconds);
}

}  // namespace plimsoll
