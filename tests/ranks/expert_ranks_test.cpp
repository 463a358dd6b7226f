// Mixtures whose experts ranks share, which are threads here.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <map>

#include "core/model/expert_slice.h"
#include "core/plan/exchange.h"
#include "core/plan/expand.h"
#include "core/plan/state_part.h"
#include "tests/ranks/tiny_team.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

using namespace test;

ExpertSpec mixture(GatingKind gating) {
  ExpertSpec experts = gating_defaults(gating);
  experts.count = 4;
  experts.every = 2;
  return experts;
}

/// Four replicas, or two, that pass a micro-batch each.
JobShape shape_of(GatingKind gating, std::uint32_t replicas, double clip = 0) {
  return {.schedule = "gpipe", .ranks = 1, .micro_batches = 1, .replicas = replicas, .clip = clip, .layers = 4,
          .experts = mixture(gating)};
}

struct Reported {
  std::vector<double> losses, expert_losses, refused;

  bool operator==(const Reported&) const = default;
};

Reported report_of(Executor& executor, std::int64_t steps = 3) {
  const auto trace = executor.run_steps({.steps = steps}, kText);
  if (!trace) FAIL(trace.error().text());
  Reported reported;
  for (const StepSummary& step : trace->steps) {
    reported.losses.push_back(step.loss);
    reported.expert_losses.push_back(step.expert_loss);
    reported.refused.push_back(step.expert_overflow);
  }
  return reported;
}

Reported one_rank(const RankJob& job) {
  Reported reported;
  alone(job, [&](Executor& executor) { reported = report_of(executor); });
  return reported;
}

Reported all_ranks(const RankJob& job, std::uint64_t jitter = 0) {
  Reported reported;
  on_ranks(job, [&](JobExecutor& team) { reported = report_of(team); }, jitter);
  return reported;
}

constexpr GatingKind kGatings[] = {GatingKind::kTopK, GatingKind::kSwitch, GatingKind::kGShard, GatingKind::kNoisy};

}  // namespace

TEST_CASE("ranks that share the experts have one rank's losses to the bit where each passes one micro-batch") {
  for (const GatingKind gating : kGatings) {
    for (const std::uint32_t ranks : {2u, 4u}) {
      RankJob job = tiny_job(shape_of(gating, ranks));
      const Reported one = one_rank(job);
      REQUIRE(one.losses.size() == 3);
      job.experts = ranks;
      INFO(describe(job) << ", " << to_text(gating));
      const Reported many = all_ranks(job);
      CHECK(many == one);
      CHECK(all_ranks(job, 7) == many);
    }
  }
}

TEST_CASE("so they have in mixed bf16, and on held-out data") {
  JobShape shape = shape_of(GatingKind::kTopK, 2);
  shape.precision = Precision::kBf16Mixed;
  RankJob job = tiny_job(shape);
  job.evaluation = true;
  const auto find = [](std::vector<double>& losses) {
    return [&losses](Executor& executor) {
      losses = losses_of(executor, 0, 3);
      const auto found = executor.evaluate(kText, 3);
      if (!found) FAIL(found.error().text());
      losses.push_back(found->loss);
    };
  };
  std::vector<double> one, many;
  alone(job, find(one));
  job.experts = 2;
  on_ranks(job, find(many));
  CHECK(one[3] > 0);
  CHECK(many == one);
}

TEST_CASE("a mixture's block sends rows to experts and back, once on each way there and on the way back") {
  JobShape shape = shape_of(GatingKind::kSwitch, 4);
  shape.micro_batches = 3;
  shape.expert_ranks = 2;
  const std::vector<Plan> plans = plans_of(tiny_job(shape));
  const FlatBody step = expand(plans[3], *plans[3].body("step"));
  const auto count = [&](ExchangeKind kind) {
    return std::count_if(step.list.instructions.begin(), step.list.instructions.end(), [&](const Instruction& of) {
      return of.exchange.valid() && plans[3].at(of.exchange).kind == kind;
    });
  };
  // Two of the four blocks are mixtures; three micro-batches, forward and backward.
  CHECK(count(ExchangeKind::kAllToAll) == 2 * 3 * 2);
  CHECK(count(ExchangeKind::kAllToAllBack) == 2 * 3 * 2);
  CHECK(count(ExchangeKind::kAllGather) == 2 * 3);
  CHECK(expert_share(plans[3]) == TensorShare{1, 2});  // ranks 2 and 3 share one set of experts
}

TEST_CASE("in fp64 nothing but the last digits differ with a clipped norm, several micro-batches, replicas and stages") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    for (const auto& [replicas, experts, stages, micro_batches] :
         std::vector<std::array<std::uint32_t, 4>>{{2, 2, 1, 1}, {2, 2, 1, 3}, {4, 2, 1, 1}, {2, 2, 2, 2}}) {
      JobShape shape = shape_of(GatingKind::kSwitch, replicas, 0.5);
      shape.precision = Precision::kFp64;
      shape.family = family;
      shape.micro_batches = micro_batches;
      const Reported one = one_rank(tiny_job(shape));
      shape.ranks = stages;
      shape.schedule = "1f1b";
      shape.expert_ranks = experts;
      INFO(describe(tiny_job(shape)));
      const Reported many = all_ranks(tiny_job(shape));
      REQUIRE(many.losses.size() == one.losses.size());
      for (std::size_t i = 0; i < one.losses.size(); ++i) {
        CHECK(many.losses[i] == Approx(one.losses[i]).epsilon(1e-12));
        CHECK(many.expert_losses[i] == Approx(one.expert_losses[i]).epsilon(1e-12));
        CHECK(many.refused[i] == one.refused[i]);
      }
    }
  }
}

TEST_CASE("replicas that share experts divide the states, gradients and weights of all else, and change no bit") {
  for (const std::uint32_t replicas : {2u, 4u}) {
    RankJob job = tiny_job(shape_of(GatingKind::kTopK, replicas));
    const Reported one = one_rank(job);
    job.experts = replicas;
    for (const std::int64_t zero : {1, 2, 3}) {
      job.zero = zero;
      INFO(describe(job));
      CHECK(all_ranks(job, 7) == one);
    }
  }
}

TEST_CASE(
    "with --zero a clipped norm counts each expert once, with replicas of experts, micro-batches and stages too") {
  for (const auto& [replicas, stages, micro_batches] :
       std::vector<std::array<std::uint32_t, 3>>{{2, 1, 1}, {4, 1, 2}, {2, 2, 2}}) {
    JobShape shape = shape_of(GatingKind::kSwitch, replicas, 0.05);
    shape.precision = Precision::kFp64;
    shape.micro_batches = micro_batches;
    const std::vector<double> one = one_rank(tiny_job(shape)).losses;
    shape.ranks = stages;
    shape.schedule = "1f1b";
    shape.expert_ranks = 2;
    for (const std::int64_t zero : {1, 2, 3}) {
      shape.zero = zero;
      INFO(describe(tiny_job(shape)));
      const std::vector<double> many = all_ranks(tiny_job(shape)).losses;
      REQUIRE(many.size() == one.size());
      for (std::size_t i = 0; i < one.size(); ++i) CHECK(many[i] == Approx(one[i]).epsilon(1e-12));
    }
  }
}

TEST_CASE("with --zero a rank keeps half of the states of what has no experts, and its own of what has") {
  JobShape shape = shape_of(GatingKind::kSwitch, 2);
  shape.expert_ranks = 2;
  shape.zero = 1;
  const std::vector<Plan> plans = plans_of(tiny_job(shape));
  const ParameterLayout layout = lay_out_parameters(plans[0].spec);
  std::size_t mixtures = 0;
  for (const StateBinding& kept : plans[1].state) {
    if (kept.kind == TensorKind::kParameter) continue;
    const bool mixture = !own_runs_of_experts(layout.at(kept.group)).empty();
    mixtures += mixture ? 1 : 0;
    std::int64_t elements = 0;
    for (const ElementRun& run : runs_of_state(plans[1], kept)) elements += run.count;
    const std::int64_t all = layout.at(kept.group).elements;
    // Of four experts of hidden × ffn two are another rank's.
    const std::int64_t h = plans[0].spec.hidden, f = plans[0].spec.expert_width();
    if (mixture) CHECK(elements == all - 2 * (2 * h * f + f + h));
    if (!mixture) CHECK(elements == all - part_of(all, 2, 0).count);
  }
  CHECK(mixtures > 0);
}

TEST_CASE("replicas of the same experts divide their states, and change no bit of those that do not") {
  JobShape shape = shape_of(GatingKind::kTopK, 4);
  shape.expert_ranks = 2;
  const Reported whole = all_ranks(tiny_job(shape));
  for (const std::int64_t zero : {1, 2, 3}) {
    shape.zero = zero;
    INFO(describe(tiny_job(shape)));
    CHECK(all_ranks(tiny_job(shape), 7) == whole);
  }
}

TEST_CASE(
    "of experts that two of four replicas have, each state has one owner; of what is beside them in a block, two") {
  JobShape shape = shape_of(GatingKind::kSwitch, 4);
  shape.expert_ranks = 2;
  shape.zero = 1;
  const std::vector<Plan> plans = plans_of(tiny_job(shape));
  const ParameterGroup block =
      lay_out_parameters(plans[0].spec).at(GroupId(2));  // embedding, block 0, block 1 with experts
  std::map<TensorKind, std::vector<int>> owners;
  for (const Plan& plan : plans) {
    for (const StateBinding& kept : plan.state) {
      if (kept.group != GroupId(2) || kept.kind == TensorKind::kParameter) continue;
      CHECK(kept.part == plan.rank);
      CHECK(kept.parts == 4);
      std::vector<int>& of = owners[kept.kind];
      of.resize(static_cast<std::size_t>(block.elements));
      for (const ElementRun& run : runs_of_state(plan, kept)) {
        for (std::int64_t i = run.whole; i < run.whole + run.count; ++i) ++of[static_cast<std::size_t>(i)];
      }
    }
  }
  // Weights of both layers of four experts and their biases, and all else of the block.
  const std::int64_t h = plans[0].spec.hidden, f = plans[0].spec.expert_width();
  const std::int64_t of_experts = 4 * (2 * h * f + f + h);
  CHECK(owners.size() == 2);  // both moments
  for (const auto& [kind, of] : owners) {
    CHECK(std::count(of.begin(), of.end(), 1) == of_experts);
    CHECK(std::count(of.begin(), of.end(), 2) == block.elements - of_experts);
  }
}

TEST_CASE("a rank has its experts alone and everything else of the model, and all ranks together have all of it") {
  ModelSpec spec = tiny_spec(Family::kGpt2);
  spec.experts = mixture(GatingKind::kNoisy);
  const GroupId block(2);  // embedding, block 0, block 1 with experts
  std::vector<int> held(static_cast<std::size_t>(lay_out_parameters(spec).at(block).elements), 0);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    for (const ElementRun& run : runs_of_experts(spec, block, {rank, 2})) {
      for (std::int64_t i = run.whole; i < run.whole + run.count; ++i) ++held[static_cast<std::size_t>(i)];
    }
  }
  // Of four experts of hidden × ffn each rank has two: weights of both layers and their biases.
  const std::int64_t h = spec.hidden, f = spec.expert_width();
  const std::int64_t of_experts = 4 * (2 * h * f + f + h);
  CHECK(std::count(held.begin(), held.end(), 1) == of_experts);
  CHECK(std::count(held.begin(), held.end(), 2) == static_cast<std::int64_t>(held.size()) - of_experts);
}

TEST_CASE("a run goes on with other degrees: its state is the model's, whole") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/state";
  RankJob job = tiny_job(shape_of(GatingKind::kTopK, 4));
  std::vector<double> whole;
  alone(job, [&](Executor& executor) { whole = losses_of(executor, 0, 4); });
  job.experts = 4;
  on_ranks(job, [&](JobExecutor& team) {
    CHECK(losses_of(team, 0, 2) == std::vector<double>(whole.begin(), whole.begin() + 2));
    save(path, job, team, 2);
  });
  std::vector<double> after;
  const std::vector<double> rest(whole.begin() + 2, whole.end());
  alone(job, [&](Executor& executor) {
    load(path, job, executor);
    CHECK(losses_of(executor, 2, 2) == rest);
    after = losses_of(executor, 4, 1);
  });
  job.experts = 1;
  on_ranks(job, [&](JobExecutor& team) {
    load(path, job, team);
    CHECK(losses_of(team, 2, 2) == rest);
  });
  job.experts = 4;
  for (const std::int64_t zero : {0, 1, 3}) {
    job.zero = zero;
    on_ranks(job, [&](JobExecutor& team) {
      load(path, job, team);
      CHECK(losses_of(team, 2, 2) == rest);
      save(path + "-again", job, team, 4);
    });
    alone(job, [&](Executor& executor) {
      load(path + "-again", job, executor);
      CHECK(losses_of(executor, 4, 1) == after);
    });
  }
}

TEST_CASE("a run whose replicas divide the states of shared experts goes on with any other division") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/state";
  RankJob job = tiny_job(shape_of(GatingKind::kTopK, 4));
  job.experts = 2;
  std::vector<double> whole;
  on_ranks(job, [&](JobExecutor& team) { whole = losses_of(team, 0, 4); });
  const std::vector<double> rest(whole.begin() + 2, whole.end());
  for (const std::int64_t zero : {1, 3}) {
    INFO("ZeRO-" << zero);
    job.zero = zero;
    on_ranks(job, [&](JobExecutor& team) {
      losses_of(team, 0, 2);
      save(path, job, team, 2);
    });
    job.zero = zero == 1 ? 2 : 0;
    on_ranks(job, [&](JobExecutor& team) {
      load(path, job, team);
      CHECK(losses_of(team, 2, 2) == rest);
    });
    alone(job, [&](Executor& executor) {  // which sums gradients of experts in another order
      load(path, job, executor);
      const std::vector<double> one = losses_of(executor, 2, 2);
      for (std::size_t i = 0; i < 2; ++i) CHECK(one[i] == Approx(rest[i]).epsilon(1e-6));
    });
  }
}

TEST_CASE("of experts that ranks share, what does not divide or cannot go together is named") {
  RankJob job = tiny_job(shape_of(GatingKind::kTopK, 4));
  job.experts = 3;
  CHECK(check_job(job).error().what == "--ep 3: the 4 experts of tiny do not divide by it");
  job.experts = 4;
  CHECK(check_job(job));
  job.tensor = 2;
  CHECK(check_job(job).error().what == "--ep 4 cannot go with --tp 2 yet");
  job.tensor = 1;
  job.spec.experts.dropout = 0.1;
  CHECK(check_job(job).error().what == "--ep 4 cannot go with dropout in experts, which draws by their rows yet");
  job.spec.experts = {};
  CHECK(check_job(job).error().what == "--ep 4: tiny has no experts");
  RankJob two = tiny_job(shape_of(GatingKind::kTopK, 2));
  two.experts = 4;
  CHECK(check_job(two).error().what == "--ep 4: the 2 replicas of --dp do not divide by it");
}

}  // namespace plimsoll
