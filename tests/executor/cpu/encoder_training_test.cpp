// Training of encoders: hidden tokens, classes of sequences, classes of images.
#include <catch2/catch.hpp>
#include <cmath>

#include "executor/cpu/cpu_executor.h"
#include "executor/data/counter_random.h"
#include "executor/data/masked_tokens.h"
#include "executor/data/row_key.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_executor.h"

namespace plimsoll::test {
namespace {

constexpr std::int64_t kClasses = 3;

/// Sequences of unequal length whose class is that of their second token, or images of one brightness a class.
class TellingBatches final : public BatchSource {
 public:
  explicit TellingBatches(ModelSpec spec) : spec_(std::move(spec)) {}

  [[nodiscard]] Result<void> check(const ModelSpec&, const Recipe&) const override { return {}; }
  void fill(const BatchPlace& place, const Recipe& recipe, std::span<const std::span<std::byte>> parts) const override {
    for (std::int64_t row = 0; row < recipe.micro_batch; ++row) {
      const std::uint64_t key = row_key(place, row);
      const auto label = static_cast<std::int32_t>(to_range(key, kClasses));
      part_as<std::int32_t>(parts.back())[static_cast<std::size_t>(row)] = label;
      if (spec_.reads_images()) {
        fill_image(row, label, recipe, parts[0]);
      } else {
        fill_sequence(row, label, key, recipe, parts);
      }
    }
  }

 private:
  static void fill_image(std::int64_t row, std::int32_t label, const Recipe& recipe, std::span<std::byte> part) {
    const auto pixels = part_as<float>(part);
    const std::size_t each = pixels.size() / static_cast<std::size_t>(recipe.micro_batch);
    const float brightness = 0.5F * static_cast<float>(label) - 0.5F;
    for (std::size_t i = 0; i < each; ++i) pixels[static_cast<std::size_t>(row) * each + i] = brightness;
  }

  void fill_sequence(std::int64_t row, std::int32_t label, std::uint64_t key, const Recipe& recipe,
                     std::span<const std::span<std::byte>> parts) const {
    const auto width = static_cast<std::size_t>(recipe.sequence + 1), at = static_cast<std::size_t>(row);
    const auto tokens = part_as<std::int32_t>(parts[0]).subspan(at * width, width);
    for (std::size_t i = 0; i < width; ++i) tokens[i] = static_cast<std::int32_t>(to_range(random_at(key, i), spec_.vocabulary));
    tokens[1] = label;
    const auto extents = part_as<std::int32_t>(parts[1]);
    extents[2 * at] = static_cast<std::int32_t>(4 + to_range(random_at(key, 1000), recipe.sequence - 3));
    extents[2 * at + 1] = extents[2 * at] / 2;
  }

  ModelSpec spec_;
};

/// Runs of 64 equal tokens: what is hidden stands beside it.
class Runs final : public TokenSource {
 public:
  [[nodiscard]] std::int64_t size() const override { return 1 << 14; }
  void read(std::int64_t offset, std::span<std::int32_t> out) const override {
    for (std::int32_t& token : out) {
      token = static_cast<std::int32_t>(to_range(mix64(static_cast<std::uint64_t>(offset++ / 64)), 8));
    }
  }
};

struct Case {
  ModelSpec spec;
  Recipe recipe;

  [[nodiscard]] std::unique_ptr<BatchSource> batches() const {
    if (spec.head == HeadKind::kClass) return std::make_unique<TellingBatches>(spec);
    return std::make_unique<MaskedTokens>(std::make_unique<Runs>(), spec);
  }
};

std::vector<Case> cases(std::int64_t accumulate = 2) {
  std::vector<Case> all;
  for (const bool classes : {false, true}) {
    const ModelSpec spec = small_model(Family::kBert, 3);
    all.push_back({classes ? with_classes(spec, kClasses) : spec, small_recipe(accumulate)});
  }
  ModelSpec vit = small_model(Family::kVit, 3);
  vit.classes = kClasses;
  all.push_back({vit, small_recipe(accumulate)});
  all.back().recipe.sequence = vit.max_positions;
  for (Case& one : all) one.recipe.learning_rate = 3e-3;
  return all;
}

std::unique_ptr<CpuExecutor> executor_of(const Case& of, const Strategy& strategy, const CpuOptions& options = {}) {
  const auto plan = lower_to_plan(of.spec, of.recipe, tiny_machine(), strategy, {.evaluation = true});
  if (!plan) FAIL(plan.error().text());
  return plimsoll::executor_of(*plan, options);
}

std::vector<double> train(CpuExecutor& executor, const Case& of, std::int64_t first, std::int64_t steps) {
  return plimsoll::train(executor, first, steps, *of.batches());
}

}  // namespace

TEST_CASE("an encoder's losses have the same bits under every strategy, with any number of threads and random delays") {
  const std::vector<Strategy> strategies = {
      {.name = "recompute", .recompute_every = 2},
      {.name = "host", .recompute_every = 1, .optimizer = Tier::kHost, .gradients = Tier::kHost},
      {.name = "ssd", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .staging_slots = 2},
      {.name = "stream", .recompute_every = 1, .parameters = Tier::kHost, .optimizer = Tier::kHost, .gradients = Tier::kHost},
  };
  for (const Case& of : cases()) {
    CAPTURE(of.spec.name, of.spec.classes);
    const std::vector<double> expected = train(*executor_of(of, {}, {.threads = 1}), of, 0, 4);
    std::uint64_t jitter = 1;
    for (const Strategy& strategy : strategies) {
      CAPTURE(strategy.name);
      const auto executor = executor_of(of, strategy, {.threads = 2, .jitter_seed = jitter++});
      CHECK(train(*executor, of, 0, 4) == expected);
      CHECK(executor->check_touched());
    }
  }
}

TEST_CASE("what is hidden depends on the step, so that a training in two parts is that of one part") {
  for (const Case& of : cases()) {
    const std::vector<double> whole = train(*executor_of(of, {}), of, 0, 6);
    const auto executor = executor_of(of, {});
    std::vector<double> parts = train(*executor, of, 0, 3);
    for (const double loss : train(*executor, of, 3, 3)) parts.push_back(loss);
    CHECK(parts == whole);
    CHECK(whole[0] != whole[1]);
  }
}

TEST_CASE("an encoder learns to find hidden tokens and to tell classes apart, and its evaluation counts right answers") {
  for (const Case& of : cases(1)) {
    CAPTURE(of.spec.name, of.spec.classes);
    const auto executor = executor_of(of, {});
    const auto before = executor->evaluate(*of.batches(), 20);
    REQUIRE(before);
    REQUIRE(before->right.has_value());
    CHECK(*before->right < 0.7);
    const std::vector<double> losses = train(*executor, of, 0, 300);
    CHECK(losses.front() == Approx(std::log(static_cast<double>(of.spec.outputs()))).margin(0.3));
    const auto after = executor->evaluate(*of.batches(), 20);
    CHECK(after->loss < 0.5 * before->loss);
    CHECK(*after->right > 0.7);
  }
}

TEST_CASE("a model is refused batches that its head cannot learn from") {
  const RepeatedText text("the quick brown fox jumps. ");
  for (const Case& of : cases(1)) {
    const auto executor = executor_of(of, {});
    CHECK_FALSE(executor->run_steps({.steps = 1, .on_step = {}, .stop = nullptr}, text));
    CHECK_FALSE(executor->evaluate(text, 1));
  }
}

}  // namespace plimsoll::test
