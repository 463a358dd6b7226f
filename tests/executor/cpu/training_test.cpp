#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <cstring>

#include "core/plan/expand.h"
#include "executor/cpu/cpu_executor.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/tiny_executor.h"

namespace plimsoll {
namespace {

Plan plan_of(const Strategy& strategy, const Recipe& recipe = tiny_recipe(), const ModelSpec& spec = tiny_spec(),
             std::int64_t cores = 2) {
  auto plan = lower_to_plan(spec, recipe, tiny_machine(cores), strategy, {.evaluation = true});
  REQUIRE(plan);
  return std::move(*plan);
}

RunSegment segment_of(std::int64_t first, std::int64_t steps) {
  return {.first_step = first, .steps = steps, .first_traced_step = first, .on_step = {}, .stop = nullptr};
}

std::vector<double> losses_of(const Trace& trace) {
  std::vector<double> losses;
  for (const StepSummary& step : trace.steps) losses.push_back(step.loss);
  return losses;
}

std::vector<double> losses_of(const Plan& plan, const CpuOptions& options, std::int64_t steps = 6) {
  const auto executor = executor_of(plan, options);
  const auto trace = executor->run_steps(segment_of(0, steps), kText);
  REQUIRE(trace);
  REQUIRE(executor->check_touched());
  return losses_of(*trace);
}

/// Strategies that differ in every choice of time and place which this machine can carry out.
std::vector<Strategy> strategies() {
  std::vector<Strategy> all;
  for (const std::int64_t recompute : {0, 1, 2}) {
    for (const Tier optimizer : {Tier::kDevice, Tier::kHost, Tier::kSsd}) {
      for (const Tier gradients : {Tier::kDevice, Tier::kHost}) {
        if (optimizer == Tier::kDevice && gradients == Tier::kHost) continue;
        for (const bool overlap : {true, false}) {
          all.push_back({.name = "made up",
                         .recompute_every = recompute,
                         .optimizer = optimizer,
                         .gradients = gradients,
                         .staging_slots = 1 + recompute % 2,
                         .overlap = overlap});
        }
      }
    }
  }
  return all;
}

/// Second experts by chance, full experts and dropout.
ModelSpec tiny_experts() {
  ModelSpec spec = tiny_spec();
  spec.experts = gating_defaults(GatingKind::kGShard);
  spec.experts.count = 4;
  spec.experts.groups = 2;
  spec.experts.dropout = 0.1;
  return spec;
}

}  // namespace

TEST_CASE("a hundred steps of a repetitive text bring the loss from chance to near nothing") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    const std::vector<double> losses = losses_of(plan_of({}, tiny_recipe(), tiny_spec(family)), {}, 100);
    REQUIRE(losses.size() == 100);
    CHECK(losses.front() == Approx(std::log(128.0)).margin(0.1));  // weights of 0.02 leave the logits almost even
    CHECK(losses.back() < 0.5);
  }
}

TEST_CASE("the number of threads changes no bit of any loss") {
  const Plan plan = plan_of({}, tiny_recipe(), tiny_spec(), 3);
  const std::vector<double> expected = losses_of(plan, {.threads = 1});
  for (const std::int64_t threads : {2, 3, 5}) CHECK(losses_of(plan, {.threads = threads}) == expected);
}

TEST_CASE("a plan for more workers changes no bit of any loss") {
  CHECK(losses_of(plan_of({}, tiny_recipe(), tiny_spec(), 1), {}) ==
        losses_of(plan_of({}, tiny_recipe(), tiny_spec(), 4), {}));
}

TEST_CASE("every strategy gives bitwise the same losses under random delays, and writes only into its buffers") {
  for (const std::int64_t accumulate : {1, 3}) {
    Recipe recipe = tiny_recipe();
    recipe.accumulate = accumulate;
    const ModelSpec spec = accumulate == 1 ? tiny_spec() : tiny_experts();
    const std::vector<double> expected = losses_of(plan_of({}, recipe, spec), {.threads = 1}, 4);
    std::uint64_t jitter = 1;
    for (const Strategy& strategy : strategies()) {
      CAPTURE(describe(strategy), accumulate, jitter);
      CHECK(losses_of(plan_of(strategy, recipe, spec), {.threads = 2, .jitter_seed = jitter++}, 4) == expected);
    }
  }
}

TEST_CASE("fp64 runs, and its losses agree with fp32 to single precision") {
  Recipe recipe = tiny_recipe();
  const std::vector<double> single = losses_of(plan_of({}, recipe), {}, 5);
  recipe.precision = Precision::kFp64;
  const std::vector<double> twice = losses_of(plan_of({}, recipe), {}, 5);
  for (std::size_t s = 0; s < single.size(); ++s) CHECK(single[s] == Approx(twice[s]).epsilon(1e-4));
  CHECK(single != twice);
}

TEST_CASE("the arenas are used up to their last byte") {
  const Plan plan = plan_of({.optimizer = Tier::kHost, .gradients = Tier::kHost});
  const auto executor = executor_of(plan);
  const auto trace = executor->run_steps(segment_of(0, 2), kText);
  REQUIRE(trace);
  REQUIRE(executor->evaluate(kText, 1));
  REQUIRE(trace->peaks.size() == plan.arenas.size());
  const std::vector<SpacePeak> peaks = executor->touched();
  for (std::size_t i = 0; i < plan.arenas.size(); ++i) CHECK(peaks[i].bytes == plan.arenas[i].bytes);
}

TEST_CASE("a traced step has one event for each instruction, an untraced one a summary only") {
  const Plan plan = plan_of({});
  const auto executor = executor_of(plan, {.backend = "cpu test"});
  RunSegment segment = segment_of(0, 5);
  segment.first_traced_step = 3;
  const auto trace = executor->run_steps(segment, kText);
  REQUIRE(trace);
  CHECK(trace->source == "cpu test");
  CHECK(trace->steps.size() == 5);
  CHECK(trace->events.size() == 2 * instruction_count(plan, *plan.body("step")));
  for (const StepSummary& step : trace->steps) {
    CHECK(step.gradient_norm > 0);
    CHECK(step.learning_rate == 3e-3);
  }
}

TEST_CASE("an interrupted run keeps what was done and goes on as if nothing had been") {
  const Plan plan = plan_of({});
  const std::vector<double> whole = losses_of(plan, {}, 12);
  const auto executor = executor_of(plan);
  std::atomic<bool> stop = false;
  RunSegment segment = segment_of(0, 12);
  segment.stop = &stop;
  segment.on_step = [&](const StepSummary& summary) { stop = summary.step >= 3; };
  const auto first = executor->run_steps(segment, kText);
  REQUIRE(first);
  const auto done = static_cast<std::int64_t>(first->steps.size());
  REQUIRE(done >= 4);
  REQUIRE(done < 12);
  const auto second = executor->run_steps(segment_of(done, 12 - done), kText);
  REQUIRE(second);
  std::vector<double> both = losses_of(*first);
  for (const double loss : losses_of(*second)) both.push_back(loss);
  CHECK(both == whole);
}

TEST_CASE("evaluation is repeatable, falls as the model learns, and disturbs nothing") {
  const Plan plan = plan_of({});
  const std::vector<double> undisturbed = losses_of(plan, {}, 40);
  const auto executor = executor_of(plan);
  const auto before = executor->evaluate(kText, 3);
  REQUIRE(before);
  CHECK(executor->evaluate(kText, 3)->loss == before->loss);
  const auto trace = executor->run_steps(segment_of(0, 40), kText);
  REQUIRE(trace);
  CHECK(losses_of(*trace) == undisturbed);
  CHECK(executor->evaluate(kText, 3)->loss < before->loss - 1);
}

TEST_CASE("weights start by GPT-2's rule and do not depend on the number of threads") {
  const Plan plan = plan_of({});
  const auto one = executor_of(plan, {.threads = 1});
  const auto two = executor_of(plan, {.threads = 2});
  const ParameterLayout layout = lay_out_parameters(plan.spec);
  const auto spread = [&](GroupId group, ParameterRole role) {  // mean and standard deviation
    const ParameterTensor* tensor = layout.at(group).find(role);
    const auto bytes = one->state(TensorKind::kParameter, group);
    std::vector<float> values(static_cast<std::size_t>(tensor->elements()));
    std::memcpy(values.data(), bytes.data() + 4 * tensor->offset, values.size() * 4);
    double sum = 0;
    double squares = 0;
    for (const float value : values) sum += value, squares += value * value;
    const double mean = sum / static_cast<double>(values.size());
    return std::pair(mean, std::sqrt(squares / static_cast<double>(values.size()) - mean * mean));
  };
  const auto [mean, deviation] = spread(layout.embedding(), ParameterRole::kTokenEmbedding);  // 4096 values
  CHECK(std::abs(mean) < 4 * 0.02 / 64);  // four standard errors: σ ÷ √4096
  CHECK(deviation == Approx(0.02).epsilon(4 / std::sqrt(2 * 4096.0)));
  CHECK(spread(layout.block(1), ParameterRole::kFfnOutWeight).second == Approx(0.01).epsilon(0.07));  // 0.02 ÷ √(2·2)
  CHECK(spread(layout.block(0), ParameterRole::kNorm1Weight) == std::pair(1.0, 0.0));
  CHECK(spread(layout.block(0), ParameterRole::kQkvBias) == std::pair(0.0, 0.0));
  for (std::size_t g = 0; g < layout.groups.size(); ++g) {
    const auto a = one->state(TensorKind::kParameter, GroupId(g));
    const auto b = two->state(TensorKind::kParameter, GroupId(g));
    CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    for (const std::byte byte : one->state(TensorKind::kSecondMoment, GroupId(g))) REQUIRE(byte == std::byte{0});
  }
}

TEST_CASE("Switch starts with truncated normals of a tenth of the usual variance, a noisy router with noise alone") {
  ModelSpec spec = tiny_experts();
  spec.experts = gating_defaults(GatingKind::kSwitch);
  spec.experts.count = 4;
  const auto weights = [&](ParameterRole role) {
    const auto executor = executor_of(plan_of({}, tiny_recipe(), spec), {});
    const ParameterLayout layout = lay_out_parameters(spec);
    const ParameterTensor* tensor = layout.groups[1].find(role);
    std::vector<float> values(static_cast<std::size_t>(tensor->elements()));
    const auto bytes = executor->state(TensorKind::kParameter, GroupId(1u));
    std::memcpy(values.data(), bytes.data() + 4 * tensor->offset, values.size() * 4);
    return values;
  };
  const std::vector<float> in = weights(ParameterRole::kExpertInWeight);  // 4 · 64 · 32 values
  const double deviation = std::sqrt(0.1 / 32);
  double squares = 0;
  for (const float w : in) {
    squares += static_cast<double>(w) * static_cast<double>(w);
    REQUIRE(std::abs(w) <= 2.00001 * deviation);
  }
  // A standard normal cut at 2 has the variance 1 − 2·2·φ(2) / (2 Φ(2) − 1) = 0.7737.
  CHECK(squares / static_cast<double>(in.size()) == Approx(0.7737 * deviation * deviation).epsilon(0.06));
  spec.experts = gating_defaults(GatingKind::kNoisy);
  spec.experts.count = 4;
  for (const float w : weights(ParameterRole::kRouterWeight)) REQUIRE(w == 0);
}

TEST_CASE("what the CPU backend cannot run is refused by name before anything is reserved") {
  const auto reason = [](const Plan& plan) {
    const auto executor = CpuExecutor::create(plan, {});
    REQUIRE_FALSE(executor);
    return executor.error().text();
  };
  Plan strange = plan_of({});
  strange.kernels[0].dtype = DType::kUint8;
  CHECK_THAT(reason(strange), Catch::Contains(fmt::format("'{}' in uint8", to_text(strange.kernels[0].kind))));

  Plan vast = plan_of({});
  vast.arenas[0].bytes = Bytes(std::int64_t{1} << 50);
  vast.platform.spaces[vast.arenas[0].space.index].usable = Bytes(std::int64_t{1} << 51);
  CHECK_THAT(reason(vast), Catch::Contains("bytes are missing"));
}

TEST_CASE("a corpus shorter than one window is refused") {
  const auto executor = executor_of(plan_of({}));
  const RepeatedText short_text("abc", 16);
  CHECK_FALSE(executor->run_steps(segment_of(0, 1), short_text));
  CHECK_FALSE(executor->evaluate(short_text, 1));
}

TEST_CASE("a corpus that fails in the middle of a run fails the run, not the process") {
  class Failing final : public TokenSource {
   public:
    [[nodiscard]] std::int64_t size() const override { return 4096; }
    void read(std::int64_t, std::span<std::int32_t> out) const override {
      if (++reads_ > 20)
        throw EnvironmentError({.kind = ErrorKind::kEnvironment, .what = "gone", .where = {}, .remedy = {}});
      std::fill(out.begin(), out.end(), 1);
    }

   private:
    mutable std::atomic<int> reads_ = 0;
  };
  const auto executor = executor_of(plan_of({}));
  CHECK_THROWS_AS(executor->run_steps(segment_of(0, 100), Failing()), EnvironmentError);
}

}  // namespace plimsoll
