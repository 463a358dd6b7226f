#include <catch2/catch.hpp>

#include "formats/models/resolve_model.h"
#include "sim/answers/what_would_help.h"

namespace plimsoll {
namespace {

Question ask(const std::string& model, Bytes device, Bytes ram) {
  MachineOptions options;
  options.ram = ram;
  if (device.count > 0) options.device_memory = device;
  options.pcie_generation = 3;
  options.pcie_lanes = 8;
  Question question{.spec = resolve_model(model).value(),
                    .recipe = {.precision = Precision::kFp16Mixed, .micro_batch = 2, .sequence = 512}};
  return on_machine(std::move(question), {find_gpu(built_in_gpu_catalogue(), "RTX 2060 6GB").value(), options}).value();
}

const ChangeOutcome& named(const HelpAnswer& help, const std::string& name) {
  for (const ChangeOutcome& outcome : help.outcomes) {
    if (outcome.name == name) return outcome;
  }
  FAIL("no change " << name);
  return help.outcomes.front();
}

bool adds_hardware(const ChangeOutcome& outcome) {
  return outcome.kind == "RAM" || outcome.kind == "drive" || outcome.kind == "link" || outcome.kind == "CPU";
}

}  // namespace

TEST_CASE("no change that is worse than today's setup is listed as help, and more hardware never hurts") {
  // GPT-2 with room for a third of it on the device: weights or states have to wait elsewhere.
  const HelpAnswer help = what_would_help(ask("gpt2", kMiB * 900, kGiB * 16)).value();
  REQUIRE(help.today.fits);
  REQUIRE(help.outcomes.size() > 20);
  for (const ChangeOutcome& outcome : help.outcomes) {
    INFO(outcome.name << " " << outcome.speed_up);
    if (outcome.helps()) CHECK(outcome.speed_up >= 1.01);
    if (adds_hardware(outcome)) CHECK(outcome.speed_up >= 0.999);
  }
  // Twice the lanes halve the transfers that this plan waits for.
  CHECK(named(help, "16 PCIe lanes").speed_up > 1);
  CHECK(named(help, "16 PCIe lanes").effect == ChangeEffect::kTime);
  CHECK(named(help, "optimizer sgd").effect == ChangeEffect::kTraining);
}

TEST_CASE("a drive is searched as fit searches: nothing that fit would find is faster") {
  const Question question = ask("gpt2", kMiB * 600, kGiB * 3);
  const HelpAnswer help = what_would_help(question).value();
  std::size_t drives = 0;
  for (const Change& change : list_changes(question)) {
    if (change.kind != "drive") continue;
    ++drives;
    const ChangeOutcome& outcome = named(help, change.name);
    CHECK_FALSE(outcome.at_least);
    CHECK(outcome.answer.step_seconds <= answer_question(change.question).value().step_seconds);
  }
  CHECK(drives == 1);
}

TEST_CASE("what fits by a plan that none of today's is near is help, not short of a little") {
  // 1.56 B parameters take 16 bytes each, 23.2 GiB: more than 14 GiB of host and 5.45 GiB of device, less than with 30 GiB.
  const HelpAnswer help = what_would_help(ask("gpt2-xl", Bytes(0), kGiB * 16)).value();
  REQUIRE_FALSE(help.today.fits);
  const ChangeOutcome& twice = named(help, "32.00 GiB of RAM");
  CHECK(twice.makes_fit);
  CHECK(twice.answer.step_seconds > 0);
}

TEST_CASE("a board with which fit finds a plan is told to make the training fit, however far that plan is from today's") {
  // Llama 3.2 1B takes 18.4 GiB of weights and states; no family's plan fits on these boards beside 11.8 GiB of RAM.
  Question question = ask("llama3.2-1b", Bytes(6296422121), Bytes(14845554458));
  question.recipe.micro_batch = 5;
  const HelpAnswer help = what_would_help(question).value();
  REQUIRE_FALSE(help.today.fits);
  for (const char* board : {"RTX 2060 Super", "RTX 4080"}) {
    INFO(board);
    CHECK(named(help, board).makes_fit);
  }
}

TEST_CASE("where states alone are too much for everything, changes of a step of many micro-batches are told too") {
  Question question = ask("llama3-8b", kMiB * 600, kGiB * 3);
  question.recipe.accumulate = 16;
  const HelpAnswer help = what_would_help(question).value();
  REQUIRE_FALSE(help.today.fits);
  CHECK_FALSE(named(help, "6.00 GiB of RAM").answer.fits);
  CHECK(named(help, "6.00 GiB of RAM").answer.short_of > kGiB * 64);
}

TEST_CASE("changes are sorted: what makes the training fit first, then by speed") {
  // States of 124 M parameters, 12 bytes each, do not go into 600 MiB of the device and the 1 GiB that 3 GiB of RAM leave.
  const HelpAnswer help = what_would_help(ask("gpt2", kMiB * 600, kGiB * 3)).value();
  REQUIRE_FALSE(help.today.fits);
  CHECK(named(help, "6.00 GiB of RAM").makes_fit);
  CHECK(named(help, "an SSD of 2 TB, 3.5/1.7 GB/s").makes_fit);
  bool still = true;
  for (const ChangeOutcome& outcome : help.outcomes) {
    if (!outcome.makes_fit) still = false;
    else CHECK(still);
    CHECK(outcome.speed_up == 0);  // of what does not run today there is no speed to compare with
  }
}

TEST_CASE("a price of speed is the price over what the training gains") {
  const PriceList prices = PriceList::read("item,price\nram,3\nRTX 3090,700\nmainboard,150\n", "prices.csv").value();
  // 48 GiB more at 3 each.
  CHECK(prices.total({{"ram", 48}}) == 144.0);
  CHECK(prices.total({{"RTX 3090", 1}}) == 700.0);
  CHECK_FALSE(prices.total({{"ram", 1}, {"cpu", 1}}));
  CHECK(prices.total({}) == 0.0);
  const HelpAnswer help = what_would_help(ask("gpt2", kMiB * 900, kGiB * 16), prices).value();
  const ChangeOutcome& lanes = named(help, "16 PCIe lanes");
  CHECK(*lanes.price == 150);
  CHECK(*lanes.price_of_speed == Approx(150 / (lanes.speed_up - 1)));
}

TEST_CASE("a price of nothing, a price that is none and an unknown board are refused with their line") {
  const auto refused = [](const std::string& csv) {
    const auto list = PriceList::read(csv, "prices.csv");
    REQUIRE_FALSE(list);
    return list.error();
  };
  CHECK_THAT(refused("item,price\nram,cheap\n").text(), Catch::Contains("prices.csv:2"));
  CHECK_THAT(refused("item,price\nram,-3\n").text(), Catch::Contains("prices.csv:2"));
  CHECK_THAT(refused("item,price\nRTX 1234,3\n").text(), Catch::Contains("prices.csv:2"));
}

TEST_CASE("of another program only what its rules know is changed, a second GPU among it") {
  Question question = ask("gpt2", Bytes(0), kGiB * 16);
  question.stack = StackSetup{};
  const HelpAnswer help = what_would_help(question).value();
  bool second = false;
  for (const ChangeOutcome& outcome : help.outcomes) {
    CHECK(outcome.kind != "RAM");
    CHECK(outcome.kind != "link");
    if (outcome.name.find("2 GPUs") == 0) second = outcome.speed_up > 0 && outcome.effect == ChangeEffect::kTraining;
  }
  CHECK(second);
}

TEST_CASE("of transformers' models fused kernels are tried, with what fit says of them") {
  Question question = ask("gpt2", Bytes(0), kGiB * 16);
  question.stack = StackSetup{};
  const HelpAnswer help = what_would_help(question).value();
  question.stack->fused_head = true;
  CHECK(named(help, "TRL's fused head").answer.step_seconds == answer_question(question).value().step_seconds);
  question.stack->recomputation = Recomputation::kFull;
  CHECK(named(help, "recompute full, TRL's fused head").answer.step_seconds == answer_question(question).value().step_seconds);
  CHECK(named(help, "TRL's fused head").effect == ChangeEffect::kRounding);
}

TEST_CASE("two memories are filled together where neither holds a plan alone") {
  // GPT-2 XL with AdamW takes 25 GB: 24 of a board and 14 that are left of 16 of RAM hold it.
  MachineOptions options;
  options.ram = kGiB * 16;
  Question question{.spec = resolve_model("gpt2-xl").value(), .recipe = {.precision = Precision::kBf16Mixed, .sequence = 1024}};
  question = on_machine(std::move(question), {find_gpu(built_in_gpu_catalogue(), "RTX 3090").value(), options}).value();
  CHECK(answer_question(question).value().fits);
}

}  // namespace plimsoll
