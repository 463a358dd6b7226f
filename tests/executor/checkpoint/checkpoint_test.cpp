#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "executor/checkpoint/load_weights.h"
#include "executor/checkpoint/save_weights.h"
#include "executor/checkpoint/training_state.h"
#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_training.h"

namespace plimsoll {
namespace {

const RepeatedText kText("the quick brown fox jumps. ");

std::unique_ptr<CpuExecutor> executor_of(const Recipe& recipe, const ModelSpec& spec = tiny_spec(),
                                         Strategy strategy = {}) {
  const auto plan = lower_to_plan(spec, recipe, tiny_machine(), strategy, {.evaluation = true});
  REQUIRE(plan);
  auto executor = CpuExecutor::create(*plan, {});
  if (!executor) FAIL(executor.error().text());
  (*executor)->initialize();
  return std::move(*executor);
}

std::vector<double> train(CpuExecutor& executor, std::int64_t first, std::int64_t steps) {
  const auto trace = executor.run_steps(
      {.first_step = first, .steps = steps, .first_traced_step = first, .on_step = {}, .stop = nullptr}, kText);
  REQUIRE(trace);
  std::vector<double> losses;
  for (const StepSummary& step : trace->steps) losses.push_back(step.loss);
  return losses;
}

ReadState reader(const CpuExecutor& executor) {
  return [&](TensorKind kind, GroupId group) { return executor.state(kind, group); };
}

WriteState writer(CpuExecutor& executor) {
  return [&](TensorKind kind, GroupId group, const FillState& fill) { executor.set_state(kind, group, fill); };
}

}  // namespace

TEST_CASE("a resumed run repeats the uninterrupted one bit for bit, even under another strategy") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.file("state.safetensors");
  const Recipe recipe = tiny_recipe();
  const auto whole = executor_of(recipe);
  const std::vector<double> losses = train(*whole, 0, 12);

  const auto first = executor_of(recipe);
  train(*first, 0, 5);
  REQUIRE(save_training_state(path, tiny_spec(), recipe, 5, reader(*first)));
  for (const Tier tier : {Tier::kDevice, Tier::kHost}) {
    const auto second = executor_of(recipe, tiny_spec(), {.optimizer = tier, .gradients = tier});
    const auto done = load_training_state(path, tiny_spec(), recipe, writer(*second));
    if (!done) FAIL(done.error().text());
    CHECK(*done == 5);
    CHECK(train(*second, *done, 7) == std::vector<double>(losses.begin() + 5, losses.end()));
  }
}

TEST_CASE("a training state of another recipe is refused with what differs, and changes nothing") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.file("state.safetensors");
  const auto executor = executor_of(tiny_recipe());
  REQUIRE(save_training_state(path, tiny_spec(), tiny_recipe(), 3, reader(*executor)));
  Recipe other = tiny_recipe();
  other.learning_rate = 1e-3;
  bool written = false;
  const auto touch = [&](TensorKind, GroupId, const FillState&) { written = true; };
  const auto refused = load_training_state(path, tiny_spec(), other, touch);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().what, Catch::Contains("it has lr=0.003"));
  CHECK_FALSE(written);

  REQUIRE(save_weights(folder.file("weights.safetensors"), tiny_spec(), Precision::kFp32, {},
                       reader(*executor)));
  const auto weights = load_training_state(folder.file("weights.safetensors"), tiny_spec(), tiny_recipe(), touch);
  REQUIRE_FALSE(weights);
  CHECK_THAT(weights.error().text(), Catch::Contains("no training state"));
}

TEST_CASE("the training state of an fp64 run is not rounded, and its weights alone are once") {
  const TemporaryFolder folder;
  const std::string path = folder.file("state.safetensors");
  Recipe recipe = tiny_recipe();
  recipe.precision = Precision::kFp64;
  const auto executor = executor_of(recipe);
  train(*executor, 0, 2);
  REQUIRE(save_training_state(path, tiny_spec(), recipe, 2, reader(*executor)));
  const auto again = executor_of(recipe);
  REQUIRE(load_training_state(path, tiny_spec(), recipe, writer(*again)).value() == 2);
  for (const TensorKind kind : {TensorKind::kParameter, TensorKind::kFirstMoment, TensorKind::kSecondMoment}) {
    const auto left = executor->state(kind, GroupId(1u)), right = again->state(kind, GroupId(1u));
    CHECK(std::equal(left.begin(), left.end(), right.begin(), right.end()));
  }
  CHECK(check_training_state(path).value() == 2);

  const auto single = executor_of(tiny_recipe());
  REQUIRE(load_trained_weights(path, tiny_spec(), writer(*single)));
  const auto wide = executor->state(TensorKind::kParameter, GroupId(1u));
  const auto rounded = single->state(TensorKind::kParameter, GroupId(1u));
  REQUIRE(wide.size() == 2 * rounded.size());
  const auto* exact = reinterpret_cast<const double*>(wide.data());
  const auto* floats = reinterpret_cast<const float*>(rounded.data());
  const auto alike = [](float left, double right) { return left == static_cast<float>(right); };
  CHECK(std::equal(floats, floats + rounded.size() / sizeof(float), exact, alike));
}

TEST_CASE("a torn training state is refused, and a failed save leaves the old one") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.file("state.safetensors");
  const auto executor = executor_of(tiny_recipe());
  REQUIRE(save_training_state(path, tiny_spec(), tiny_recipe(), 3, reader(*executor)));
  const ReadState failing = [](TensorKind, GroupId) -> std::span<const std::byte> { throw std::runtime_error("gone"); };
  CHECK_THROWS(save_training_state(path, tiny_spec(), tiny_recipe(), 4, failing));
  CHECK(load_training_state(path, tiny_spec(), tiny_recipe(), writer(*executor)).value() == 3);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);  // no temporary file is left
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  CHECK_FALSE(load_training_state(path, tiny_spec(), tiny_recipe(), writer(*executor)));
}

TEST_CASE("weights written under Hugging Face's names come back bit for bit") {
  const TemporaryFolder folder;
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    const ModelSpec spec = tiny_spec(family);
    const auto trained = executor_of(tiny_recipe(), spec);
    train(*trained, 0, 3);
    const std::string path = folder.file("model.safetensors");
    REQUIRE(save_weights(path, spec, Precision::kFp32, {}, reader(*trained)));
    const auto fresh = executor_of(tiny_recipe(), spec);
    const auto loaded = load_weights(folder.path(), spec, Precision::kFp32, writer(*fresh));  // by folder
    if (!loaded) FAIL(loaded.error().text());
    CHECK(fresh->evaluate(kText, 2)->loss == trained->evaluate(kText, 2)->loss);
  }
}

TEST_CASE("a tied head that is stored as well must be the embedding") {
  const TemporaryFolder folder;
  ModelSpec untied = tiny_spec();
  untied.tied_head = false;
  const std::string path = folder.file("model.safetensors");
  const auto with_head = executor_of(tiny_recipe(), untied);  // its head is drawn apart from its embedding
  REQUIRE(save_weights(path, untied, Precision::kFp32, {}, reader(*with_head)));
  for (const Precision precision : {Precision::kFp32, Precision::kFp64}) {
    Recipe recipe = tiny_recipe();
    recipe.precision = precision;
    const auto tied = executor_of(recipe);
    const auto refused = load_weights(path, tiny_spec(), precision, writer(*tied));
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().text(), Catch::Contains("'lm_head.weight' differs") && Catch::Contains("tie_word_embeddings"));
  }
  const auto embedding = std::vector<std::byte>(with_head->state(TensorKind::kParameter, GroupId(0)).begin(),
                                                with_head->state(TensorKind::kParameter, GroupId(0)).end());
  const ParameterLayout layout = lay_out_parameters(untied);
  with_head->set_state(TensorKind::kParameter, layout.head(), [&](std::span<std::byte> place) {
    const std::int64_t at = 4 * layout.at(layout.head()).find(ParameterRole::kHeadWeight)->offset;
    std::copy_n(embedding.begin(), 4 * untied.vocabulary * untied.hidden, place.begin() + at);
  });
  REQUIRE(save_weights(path, untied, Precision::kFp32, {}, reader(*with_head)));
  const auto tied = executor_of(tiny_recipe());
  CHECK(load_weights(path, tiny_spec(), Precision::kFp32, writer(*tied)));
}

TEST_CASE("weights load into an fp64 run and lose nothing on the way") {
  const TemporaryFolder folder;
  const std::string path = folder.file("model.safetensors");
  const auto single = executor_of(tiny_recipe());
  REQUIRE(save_weights(path, tiny_spec(), Precision::kFp32, {}, reader(*single)));
  Recipe recipe = tiny_recipe();
  recipe.precision = Precision::kFp64;
  const auto twice = executor_of(recipe);
  REQUIRE(load_weights(path, tiny_spec(), Precision::kFp64, writer(*twice)));
  REQUIRE(
      save_weights(folder.file("again.safetensors"), tiny_spec(), Precision::kFp64, {}, reader(*twice)));
  const auto bytes_of = [](const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  CHECK(bytes_of(path) == bytes_of(folder.file("again.safetensors")));
}

TEST_CASE("weights of another shape are refused before any are replaced") {
  const TemporaryFolder folder;
  const std::string path = folder.file("model.safetensors");
  const auto executor = executor_of(tiny_recipe());
  REQUIRE(save_weights(path, tiny_spec(), Precision::kFp32, {}, reader(*executor)));
  ModelSpec other = tiny_spec();
  other.ffn = 96;
  bool written = false;
  CHECK_FALSE(load_weights(path, other, Precision::kFp32,
                           [&](TensorKind, GroupId, const FillState&) { written = true; }));
  CHECK_FALSE(written);
}

}  // namespace plimsoll
