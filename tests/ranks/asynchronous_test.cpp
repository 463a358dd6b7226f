// Pipelines without a flush against the update rules as published, written down once more in plain arithmetic on the same
// kernels: one rank that takes the gradient at chosen versions of the weights.
#include <catch2/catch.hpp>

#include <functional>

#include "sim/planner/ranks/job_plan.h"
#include "sim/schedule/stage_memory.h"
#include "tests/ranks/one_rank_reference.h"

namespace plimsoll {
namespace {

using test::by_ranks, test::check_same, test::distance, test::floats_of, test::Left, test::OneRank, test::Weights;

constexpr double kRate = 0.05;

struct Shape {
  std::string schedule = "pipedream";
  std::uint32_t ranks = 2;
  std::uint32_t micro_batches = 1;  ///< of a step
  bool vertical_sync = false;
  std::uint32_t replicas = 1;
  Family family = Family::kGpt2;
};

RankJob job_of(const Shape& shape) {
  RankJob job = test::tiny_job({.ranks = shape.ranks, .family = shape.family});
  const bool each = shape.schedule == "pipedream";
  auto schedule = make_schedule({.name = shape.schedule,
                                 .ranks = shape.ranks,
                                 .micro_batches = each ? 2 * shape.ranks : shape.micro_batches,
                                 .vertical_sync = shape.vertical_sync});
  REQUIRE(schedule);
  job.schedule = *schedule;
  job.replicas = shape.replicas;
  job.spec.layers = 4;
  job.recipe.optimizer = OptimizerKind::kSgd;
  job.recipe.learning_rate = kRate;
  job.recipe.weight_decay = 0;
  job.recipe.clip = 0;
  job.recipe.accumulate = std::int64_t{shape.micro_batches} * shape.replicas;
  job.evaluation = true;
  return job;
}

/// w(t + 1) = w(t) − (what a step of SGD takes away at the versions seen): group g of step t is seen as of update t − lag(g), no
/// earlier than update `first`, where the pipeline began.
void follow(OneRank& one, std::vector<Weights>& versions, Left& left, std::int64_t steps,
            const std::function<std::int64_t(std::size_t group)>& lag) {
  const auto first = static_cast<std::int64_t>(versions.size()) - 1;
  for (std::int64_t t = first; t < first + steps; ++t) {
    Weights seen = versions.back();
    for (std::size_t g = 0; g < seen.size(); ++g) seen[g] = versions[static_cast<std::size_t>(std::max(first, t - lag(g)))][g];
    left.losses.push_back(one.step(t, seen));
    const Weights moved = one.weights();
    Weights next = versions.back();
    for (std::size_t g = 0; g < next.size(); ++g) {
      for (std::size_t i = 0; i < next[g].size(); ++i) next[g][i] += moved[g][i] - seen[g][i];
    }
    versions.push_back(std::move(next));
  }
  left.weights = versions.back();
}

/// What the published rule makes of rows of so many steps, the pipeline beginning empty in each.
Left by_the_rule(const Shape& shape, const std::vector<std::int64_t>& rows) {
  const RankJob job = job_of(shape);
  OneRank one(job);
  std::vector<Weights> versions{one.weights()};
  const StageCut cut = cut_into_stages(build_training_graph(job.spec, job.recipe), shape.ranks);
  const std::int64_t last = shape.ranks - 1;
  const auto lag = [&](std::size_t group) -> std::int64_t {
    if (shape.schedule == "2bw") return 1;
    return shape.vertical_sync ? last : last - cut.stage_of_group[group];
  };
  Left left;
  for (const std::int64_t steps : rows) follow(one, versions, left, steps, lag);
  return left;
}

}  // namespace

TEST_CASE("PipeDream's stages take gradients at the versions that their forward passes saw, n − 1, n − 2, … 0 updates old") {
  for (const std::uint32_t ranks : {1u, 2u, 4u}) {
    INFO(ranks);
    const Shape shape{.ranks = ranks};
    check_same(by_ranks(job_of(shape), {9}), by_the_rule(shape, {9}));
  }
  const Shape untied{.ranks = 4, .family = Family::kLlama};
  check_same(by_ranks(job_of(untied), {7}), by_the_rule(untied, {7}));
}

TEST_CASE("with vertical sync every stage takes the version that the first one saw") {
  for (const std::uint32_t ranks : {2u, 4u}) {
    const Shape shape{.ranks = ranks, .vertical_sync = true};
    const Left ruled = by_the_rule(shape, {9});
    check_same(by_ranks(job_of(shape), {9}), ruled);
    CHECK(distance(ruled.weights, by_the_rule({.ranks = ranks}, {9}).weights) > 1e-4);  // the rules are told apart
  }
}

TEST_CASE("2BW: W(t + 1) = W(t) - rate * gradient at W(t - 1)") {
  for (const Shape& shape : {Shape{.schedule = "2bw", .ranks = 2, .micro_batches = 2},
                             Shape{.schedule = "2bw", .ranks = 2, .micro_batches = 5},
                             Shape{.schedule = "2bw", .ranks = 4, .micro_batches = 4},
                             Shape{.schedule = "2bw", .ranks = 4, .micro_batches = 6, .family = Family::kLlama}}) {
    INFO(shape.ranks << " ranks, " << shape.micro_batches << " micro-batches");
    check_same(by_ranks(job_of(shape), {6}), by_the_rule(shape, {6}));
  }
}

TEST_CASE("2BW over ranks is, bit for bit, one rank whose updates are delayed by a step") {
  RankJob job = job_of({.schedule = "2bw", .ranks = 4, .micro_batches = 4});
  job.recipe.optimizer = OptimizerKind::kSgd;
  const Left many = by_ranks(job, {6});
  Recipe delayed = job.recipe;
  delayed.delay = 1;
  auto plan = lower_to_plan(job.spec, delayed, tiny_machine(1), {});
  REQUIRE(plan);
  const auto one = executor_of(*plan);
  CHECK(many.losses == train(*one, 0, 6));
  (void)train(*one, 6, 1);  // its update 5 comes with step 6
  for (std::size_t g = 0; g < many.weights.size(); ++g)
    CHECK(many.weights[g] == floats_of(one->state(TensorKind::kParameter, GroupId(g))));
}

TEST_CASE("a pause of the ranks changes nothing, and a pipeline that is filled again begins with the newest weights") {
  for (const Shape& shape : {Shape{.ranks = 4}, Shape{.ranks = 4, .vertical_sync = true},
                             Shape{.schedule = "2bw", .ranks = 2, .micro_batches = 3}}) {
    const RankJob job = job_of(shape);
    const Left whole = by_ranks(job, {7});
    const Left paused = by_ranks(job, {7}, 2);
    CHECK(paused.losses == whole.losses);
    CHECK(paused.weights == whole.weights);
    const Left jittered = by_ranks(job, {7}, 100, 5);
    CHECK(jittered.losses == whole.losses);
    CHECK(jittered.weights == whole.weights);
    const Left filled = by_ranks(job, {4, 3});
    check_same(filled, by_the_rule(shape, {4, 3}));
    CHECK(distance(filled.weights, whole.weights) > 1e-5);
  }
}

TEST_CASE("replicas of a stage sum the gradients of a round before its update") {
  const Shape shape{.ranks = 2, .replicas = 2};
  check_same(by_ranks(job_of(shape), {6}), by_the_rule(shape, {6}));
}

TEST_CASE("a plan keeps as many versions of its weights as the schedule says") {
  for (const Shape& shape : {Shape{.ranks = 4}, Shape{.ranks = 4, .vertical_sync = true},
                             Shape{.schedule = "2bw", .ranks = 4, .micro_batches = 4}}) {
    RankJob job = job_of({.schedule = shape.schedule, .ranks = 4, .micro_batches = shape.micro_batches,
                          .vertical_sync = shape.vertical_sync, .family = Family::kLlama});
    const std::vector<std::uint32_t> wanted = weight_versions(job.schedule);  // 4 3 2 1; 4 4 4 4; 2 2 2 2
    for (const Plan& plan : test::plans_of(job)) {
      Bytes weights, all;
      for (const Buffer& buffer : plan.buffers) {
        if (buffer.category != TensorKind::kParameter) continue;
        all += buffer.bytes * buffer.slots;
        weights += buffer.name.starts_with("older") ? Bytes(0) : buffer.bytes;
      }
      INFO(shape.schedule << " rank " << plan.rank);
      CHECK(all.count == weights.count * wanted[plan.rank]);
    }
  }
}

TEST_CASE("simulated, a pipeline without a flush has no bubble but what passes of unequal length leave") {
  // Nothing but attention takes time (1 and 2 ms a block): each of two ranks computes 2 · 3 ms a micro-batch, without a pause.
  class AttentionOnly final : public CostModel {
   public:
    [[nodiscard]] Result<Cost> kernel(const Processor&, const Kernel& kernel) const override {
      const bool backward = kernel.kind == OpKind::kAttentionBackward;
      const Nanoseconds time(kernel.kind == OpKind::kAttention ? 1'000'000 : backward ? 2'000'000 : 0);
      return Cost{time, time, time, CostOrigin::kMeasured};
    }
    [[nodiscard]] Result<Cost> transfer(const Platform&, const Link&, Bytes) const override { return Cost{}; }
    [[nodiscard]] Result<Cost> host_work(const Processor&, HostTask, Bytes) const override { return Cost{}; }
    [[nodiscard]] Nanoseconds issue_overhead(const Platform&, QueueKind) const override { return {}; }
    [[nodiscard]] std::string source() const override { return "made up"; }
  };
  for (const Shape& shape : {Shape{}, Shape{.vertical_sync = true}, Shape{.schedule = "2bw", .ranks = 2, .micro_batches = 4}}) {
    const auto plans = test::plans_of(job_of(shape));
    const auto trace = simulate_ranks(plans, AttentionOnly(), 8);
    if (!trace) FAIL(trace.error().text());
    CHECK(step_of(trace->ranks, 3, 7).count == 6'000'000 * shape.micro_batches);
    CHECK(bubble_of(plans, trace->ranks, 3, 7) == Approx(0.0).margin(1e-9));
  }
}

TEST_CASE("what a pipeline without a flush cannot do is refused by name") {
  RankJob clipped = job_of({});
  clipped.recipe.clip = 1;
  const auto refused = lower_ranks(clipped);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("no norm of all to clip by") != std::string::npos);
  RankJob divided = job_of({.replicas = 2});
  divided.zero = 1;
  CHECK_FALSE(lower_ranks(divided));
}

}  // namespace plimsoll
