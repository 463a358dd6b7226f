#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "formats/exporters/export_target.h"
#include "formats/exporters/read_deepspeed.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/stack/exported_setup.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

ExportedTraining of_plan(const Strategy& strategy, Recipe recipe = small_recipe()) {
  recipe.precision = Precision::kBf16Mixed;
  return exported_training(lower_to_plan(small_model(Family::kGpt2), recipe, tiny_platform(), strategy, {}).value())
      .value();
}

json written(const ExportedTraining& training) {
  return json::parse(export_training(ExportTarget::kDeepspeed, training).value().text);
}

StackSetup infinity() {
  StackSetup setup{
      .stack = Stack::kDeepspeed, .recomputation = Recomputation::kEvery, .every = 2, .data_ranks = 4, .zero = 3};
  setup.parameters = setup.optimizer = Home::kDrive;
  setup.activations = Home::kHost;
  setup.reduce_bucket = 123'456;
  return setup;
}

}  // namespace

TEST_CASE("a plan's stage is the least that can move what the plan moves") {
  const auto stage = [](const Strategy& strategy) {
    return written(of_plan(strategy))["zero_optimization"]["stage"].get<int>();
  };
  CHECK(stage({.name = "resident"}) == 0);
  CHECK(stage({.name = "offload", .optimizer = Tier::kHost, .gradients = Tier::kHost}) == 2);
  CHECK(stage({.name = "twin", .optimizer = Tier::kHost, .gradients = Tier::kHost, .device_state_blocks = 1}) == 3);
  CHECK(stage({.name = "stream", .parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost}) == 3);
}

TEST_CASE("Twin-Flow's ratio is the share of the parameters that the CPU updates") {
  const ExportedTraining training =
      of_plan({.name = "twin", .optimizer = Tier::kHost, .gradients = Tier::kHost, .device_state_blocks = 2});
  // A block of 32 wide and 64 inside: 32·96 + 96 + 32·32 + 32 + 32·64 + 64 + 64·32 + 32 + 4·32 = 8544; four of them, a
  // table of 256 and of 32 rows of 32, and the last norm's 64: 43456. Two blocks are the device's.
  CHECK(training.updates_away == Approx(1 - 2.0 * 8544 / 43456));
  CHECK(written(training)["zero_optimization"]["offload_optimizer"]["ratio"].get<double>() ==
        Approx(training.updates_away));
}

TEST_CASE("what is written of a setup reads back as the same setup") {
  const ModelSpec spec = small_model(Family::kGpt2);
  Recipe recipe = small_recipe(3);
  recipe.precision = Precision::kFp16Mixed;
  recipe.loss_scaling = {.start = 4096, .interval = 500};
  recipe.clip = 0.25;
  const auto exported = exported_training(spec, recipe, infinity());
  REQUIRE(exported);
  const auto text = export_training(ExportTarget::kDeepspeed, *exported);
  REQUIRE(text);
  CHECK(is_deepspeed(text->text));
  auto read = read_deepspeed(text->text, "ds.json");
  REQUIRE(read);
  CHECK(read->micro_batch == recipe.micro_batch);
  CHECK(read->accumulate == 3);
  CHECK(read->clip == 0.25);
  CHECK(read->precision == Precision::kFp16Mixed);
  CHECK(read->loss_scaling == recipe.loss_scaling);
  CHECK(read->learning_rate == recipe.learning_rate);
  CHECK(read->checkpoints == 2);  // four blocks, every second one's input
  read->training.checkpoints = ExportedCheckpoints::kBlocks;
  read->training.every = 2;
  CHECK(with_configuration({.stack = Stack::kDeepspeed}, read->training).value() == infinity());
}

TEST_CASE("a configuration that contradicts itself is refused with its key") {
  const auto refused = [](const char* text, const char* key) {
    const auto read = read_deepspeed(text, "ds.json");
    REQUIRE_FALSE(read);
    INFO(read.error().text());
    CHECK(read.error().text().find(key) != std::string::npos);
  };
  refused(R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})", "bf16");
  refused(R"({"zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}})", "offload_param");
  refused(R"({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "nvme"}}})", "offload_optimizer");
  refused(R"({"zero_optimization": {"stage": 7}})", "stage");
  refused(R"({"optimizer": {"type": "OneBitAdam"}})", "type");
  refused(R"({"train_batch_size": 7, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2})",
          "train_batch_size");
  refused(R"({"gradient_clipping": "much"})", "gradient_clipping");
  refused(R"({"zero_optimization": {"stage": 2, "offload_optimizer": "cpu"}})", "offload_optimizer");
  refused(R"({"zero_optimization": 3})", "zero_optimization");
  refused("{", "ds.json");
}

TEST_CASE("\"auto\" leaves a value to the training program") {
  const auto read =
      read_deepspeed(R"({"train_batch_size": "auto", "gradient_clipping": "auto", "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto"}}, "zero_optimization": {"stage": 3}})",
                     "ds.json");
  REQUIRE(read);
  CHECK_FALSE(read->global_batch);
  CHECK_FALSE(read->clip);
  CHECK_FALSE(read->precision);
  CHECK_FALSE(read->learning_rate);
  CHECK(read->training.zero == 3);
}

TEST_CASE("a share that the CPU updates is not told as all of it") {
  auto read = read_deepspeed(
      R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.3}}})", "ds.json");
  REQUIRE(read);
  CHECK_FALSE(with_configuration({.stack = Stack::kDeepspeed}, read->training));
}

}  // namespace plimsoll::test
