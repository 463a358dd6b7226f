// Mixtures of experts on several ranks, which are threads here.
#include <catch2/catch.hpp>

#include "tests/ranks/tiny_team.h"

namespace plimsoll {
namespace {

using namespace test;

/// What a step reports.
struct Reported {
  std::vector<double> losses, norms, expert_losses, refused;

  bool operator==(const Reported&) const = default;
};

Reported report_of(Executor& executor, std::int64_t steps) {
  const auto trace = executor.run_steps({.steps = steps}, kText);
  if (!trace) FAIL(trace.error().text());
  Reported reported;
  for (const StepSummary& step : trace->steps) {
    reported.losses.push_back(step.loss);
    reported.norms.push_back(step.gradient_norm);
    reported.expert_losses.push_back(step.expert_loss);
    reported.refused.push_back(step.expert_overflow);
  }
  return reported;
}

Reported one_rank(const RankJob& job) {
  Reported reported;
  alone(job, [&](Executor& executor) { reported = report_of(executor, 3); });
  return reported;
}

Reported all_ranks(const RankJob& job) {
  Reported reported;
  on_ranks(job, [&](JobExecutor& team) { reported = report_of(team, 3); });
  return reported;
}

ExpertSpec mixture(GatingKind gating) {
  ExpertSpec experts;
  experts.count = 4;
  experts.gating = gating;
  experts.per_token = gating == GatingKind::kSwitch ? 1 : 2;
  experts.every = 2;
  experts.capacity = gating == GatingKind::kSwitch ? 1.25 : 0;
  experts.balance = 0.01;
  experts.load = gating == GatingKind::kNoisy ? 0.01 : 0;
  return experts;
}

JobShape shape_of(GatingKind gating) {
  return {.schedule = "gpipe", .ranks = 1, .micro_batches = 2, .layers = 4, .experts = mixture(gating)};
}

}  // namespace

TEST_CASE("a mixture's losses, its routers' and what experts refused are, on stages and replicas, one rank's to the bit") {
  for (const GatingKind gating : {GatingKind::kTopK, GatingKind::kSwitch, GatingKind::kNoisy}) {
    const Reported one = one_rank(tiny_job(shape_of(gating)));
    REQUIRE(one.losses.size() == 3);
    CHECK(one.expert_losses[0] > 0);
    for (const char* schedule : {"1f1b", "zb-h1", "interleaved"}) {
      JobShape piped = shape_of(gating);
      piped.schedule = schedule;
      piped.ranks = 2;
      INFO(describe(tiny_job(piped)));
      CHECK(all_ranks(tiny_job(piped)) == one);
    }
    JobShape replicas = shape_of(gating);
    replicas.micro_batches = 1;
    replicas.replicas = 2;
    CHECK(all_ranks(tiny_job(replicas)) == one);
    replicas.ranks = 2;
    CHECK(all_ranks(tiny_job(replicas)) == one);
  }
}

TEST_CASE("replicas divide a mixture's states, gradients and weights and change no bit where nothing is clipped") {
  JobShape shape = shape_of(GatingKind::kTopK);
  shape.micro_batches = 1;
  shape.replicas = 2;
  shape.clip = 0;
  const Reported one = one_rank(tiny_job(shape));
  for (const std::int64_t zero : {1, 2, 3}) {
    shape.zero = zero;
    CHECK(all_ranks(tiny_job(shape)) == one);
  }
}

TEST_CASE("ranks that share each expert compute what one rank computes: in fp64 nothing but the last digits differ") {
  for (const GatingKind gating : {GatingKind::kTopK, GatingKind::kSwitch, GatingKind::kNoisy}) {
    for (const Family family : {Family::kGpt2, Family::kLlama}) {
      JobShape shape = shape_of(gating);
      shape.precision = Precision::kFp64;
      shape.family = family;
      const Reported one = one_rank(tiny_job(shape));
      shape.tensor = 2;
      INFO(describe(tiny_job(shape)));
      const Reported many = all_ranks(tiny_job(shape));
      REQUIRE(many.losses.size() == one.losses.size());
      for (std::size_t i = 0; i < one.losses.size(); ++i) {
        CHECK(many.losses[i] == Approx(one.losses[i]).epsilon(1e-11));
        CHECK(many.norms[i] == Approx(one.norms[i]).epsilon(1e-9));
        CHECK(many.expert_losses[i] == Approx(one.expert_losses[i]).epsilon(1e-11));
        CHECK(many.refused[i] == one.refused[i]);
      }
      shape.ranks = 2;
      CHECK(all_ranks(tiny_job(shape)) == many);
    }
  }
}

TEST_CASE("of a mixture that ranks share, what does not divide is named") {
  RankJob job = tiny_job(shape_of(GatingKind::kTopK));
  job.tensor = 4;
  CHECK(check_job(job));
  job.spec.experts.width = 30;
  CHECK(check_job(job).error().what == "--tp 4: the 30 columns of the experts of tiny do not divide by it");
  job.spec.experts.width = 0;
  job.spec.experts.dropout = 0.1;
  CHECK(check_job(job).error().what.find("dropout in experts") != std::string::npos);
}

}  // namespace plimsoll
