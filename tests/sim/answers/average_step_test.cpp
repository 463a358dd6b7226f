#include "sim/answers/average_step.h"

#include <catch2/catch.hpp>

#include "formats/models/resolve_model.h"

namespace plimsoll {
namespace {

/// GPT-2 with 4 sequences of up to 1024 tokens a step under PyTorch.
Question ask(const SequenceLengths& lengths = {}) {
  MachineOptions options;
  options.ram = kGiB * 32;
  Question question{.spec = resolve_model("gpt2").value(),
                    .recipe = {.precision = Precision::kBf16Mixed, .micro_batch = 4, .sequence = 1024},
                    .stack = StackSetup{.stack = Stack::kPytorch, .modules = ModuleStyle::kHuggingFace, .attention = AttentionKernel::kFlash}};
  question.stack->lengths = lengths;
  return on_machine(std::move(question), {find_gpu(built_in_gpu_catalogue(), "RTX 4090").value(), options}).value();
}

Question ask_packed(double mean) {
  Question question = ask();
  question.stack->document_tokens = question.stack->mean_document = mean;
  return question;
}

TrainingAnswer bill_of(const Question& question, const LengthRequest& request) {
  const auto length = training_length(request, question.spec, tokens_of_sample(question));
  REQUIRE(length);
  const auto bill = bill_average(question, answer_question(question).value(), *length, {});
  REQUIRE(bill);
  return *bill;
}

}  // namespace

TEST_CASE("a sample has the recipe's tokens, of a pair twice, or the mean of lengths that vary") {
  CHECK(tokens_of_sample(ask()).each == 1024);
  CHECK_FALSE(tokens_of_sample(ask()).stated);
  Question pairs = ask();
  pairs.stack->preference.method = PreferenceMethod::kDpo;
  CHECK(tokens_of_sample(pairs).each == 2048);
  CHECK(tokens_of_sample(ask({.shortest = 1, .longest = 1024})).each == Approx(512.5));
  CHECK(tokens_of_sample(ask_packed(300)).each == 300);
  CHECK(tokens_of_sample(ask_packed(3000)).each == 1024);  // longer documents are cut
  CHECK(tokens_of_sample(ask({.seen = {1024}})).stated);
}

// 100,000 samples of 256 tokens each fill 25,000 sequences of 1024: 6,250 steps of four.
TEST_CASE("packed samples take as many steps as the sequences that they fill") {
  const TrainingAnswer packed = bill_of(ask_packed(256), {.samples = "100K"});
  CHECK(packed.steps == 6250);
  CHECK(packed.samples == 100000);
  CHECK(packed.tokens == Approx(25.6e6));
  CHECK(bill_of(ask(), {.samples = "100K"}).steps == 25000);
  CHECK(bill_of(ask_packed(256), {.tokens = "25.6M"}).steps == 6250);
}

TEST_CASE("padded samples take steps of the lengths that are drawn, not of the longest") {
  const TrainingAnswer longest = bill_of(ask(), {.samples = "100K"}), even = bill_of(ask({.shortest = 1024, .longest = 1024}), {.samples = "100K"});
  CHECK(even.seconds == Approx(longest.seconds));
  const TrainingAnswer varying = bill_of(ask({.shortest = 128, .longest = 1024}), {.samples = "100K"});
  CHECK(varying.steps == longest.steps);
  CHECK(varying.tokens == Approx(100e3 * 576));
  // The longest of four drawn alike from 128..1024 has 128 + 4/5 of 896 = 845 tokens on average, 0.825 of 1024.
  CHECK(varying.seconds < 0.88 * longest.seconds);
  CHECK(varying.seconds > 0.7 * longest.seconds);
  const TrainingAnswer seen = bill_of(ask({.seen = {128, 128, 128, 1024}}), {.samples = "100K"});
  CHECK(seen.seconds > bill_of(ask({.seen = {128, 128, 128, 128, 128, 128, 128, 128, 128, 1024}}), {.samples = "100K"}).seconds);
}

TEST_CASE("GPUs that share a batch wait for the longest of all their sequences") {
  Question alone = ask({.shortest = 128, .longest = 1024}), many = alone;
  many.stack->data_ranks = 8;
  // Eight times as many samples a step, of which the longest is longer.
  const TrainingAnswer one = bill_of(alone, {.samples = "100K"}), shared = bill_of(many, {.samples = "800K"});
  const double even_one = bill_of(ask(), {.samples = "100K"}).seconds;
  Question even = ask();
  even.stack->data_ranks = 8;
  CHECK(shared.steps == one.steps);
  CHECK(shared.seconds / bill_of(even, {.samples = "800K"}).seconds > one.seconds / even_one);
}

}  // namespace plimsoll
