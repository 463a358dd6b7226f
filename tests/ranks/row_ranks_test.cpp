// Ranks that share each layer and, between the products, the rows of the stream; they are threads here.
#include <catch2/catch.hpp>

#include <algorithm>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "sim/planner/ranks/job_plan.h"
#include "tests/ranks/team_training.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

using namespace test;

JobShape by_rows(std::uint32_t tensor, Family family = Family::kGpt2) {
  JobShape shape{.schedule = "gpipe", .ranks = 1, .micro_batches = 2, .layers = 2, .family = family, .tensor = tensor};
  shape.sequence_parallel = true;
  return shape;
}

JobShape with_whole_rows(JobShape shape) {
  shape.sequence_parallel = false;
  return shape;
}

struct Counted {
  std::int64_t scattered = 0, gathered = 0, summed = 0;
};

/// Collectives among the ranks that share layers.
Counted count_exchanges(const Plan& plan) {
  Counted found;
  const FlatBody step = expand(plan, *plan.body("step"));
  for (const Instruction& of : step.list.instructions) {
    if (!of.exchange.valid() || plan.at(of.exchange).channel != kSlicesChannel) continue;
    const ExchangeKind kind = plan.at(of.exchange).kind;
    found.scattered += kind == ExchangeKind::kReduceScatter ? 1 : 0;
    found.gathered += kind == ExchangeKind::kAllGather ? 1 : 0;
    found.summed += kind == ExchangeKind::kAllReduce ? 1 : 0;
  }
  return found;
}

Bytes norms_inputs(const Plan& plan) {  // kept from the forward pass for the backward pass
  Bytes sum;
  for (const Buffer& buffer : plan.buffers) {
    const bool norm = buffer.name.find("norm") != std::string::npos && buffer.name.find("own rows") != std::string::npos;
    if (norm && buffer.category == TensorKind::kActivation) sum.count += buffer.bytes.count;
  }
  return sum;
}

}  // namespace

TEST_CASE("ranks that share rows find the first loss of ranks that do not, to the bit, and later ones within rounding") {
  for (const JobShape& shape : {by_rows(2), by_rows(4), by_rows(2, Family::kLlama)}) {
    const RankJob job = tiny_job(shape);
    INFO(describe(job));
    const Left rows = all_ranks(job, 4), whole = all_ranks(tiny_job(with_whole_rows(shape)), 4);
    CHECK(rows.losses[0] == whole.losses[0]);
    check_losses(rows, whole, 1e-5);
  }
}

TEST_CASE("ranks that share rows compute what one rank computes: in fp64 nothing but the last digits differ") {
  for (JobShape shape : {by_rows(2), by_rows(4), by_rows(2, Family::kLlama)}) {
    shape.precision = Precision::kFp64;
    check_rounding(tiny_job(shape), 4);
  }
}

TEST_CASE("one micro-batch a step, whose gradients are not summed, has its norms' gradients summed too") {
  JobShape shape = by_rows(2);
  shape.precision = Precision::kFp64;
  shape.micro_batches = 1;
  check_rounding(tiny_job(shape), 4);
}

TEST_CASE("random delays change no bit of what ranks compute that share rows") {
  check_delays(tiny_job(by_rows(2)));
}

TEST_CASE("a pipeline of ranks that share rows, and replicas of them, give the bits of those ranks alone") {
  const Left flat = all_ranks(tiny_job(by_rows(2)), 3);
  check_pipelines(by_rows(2), flat);
  JobShape replicas = by_rows(2);
  replicas.micro_batches = 1;
  replicas.replicas = 2;
  check_losses(all_ranks(tiny_job(replicas), 3), flat, 1e-5);  // norms' gradients: over rows first, then over replicas
}

TEST_CASE("replicas of ranks that share rows divide states, gradients and weights, and compute what one rank computes") {
  JobShape shape = by_rows(2);
  shape.precision = Precision::kFp64;
  shape.replicas = 2;
  for (const auto& [zero, micro_batches] : {std::pair(1, 1u), std::pair(2, 1u), std::pair(2, 2u), std::pair(3, 2u)}) {
    shape.zero = zero;
    shape.micro_batches = micro_batches;
    check_rounding(tiny_job(shape), 4);
  }
}

TEST_CASE("ranks that share rows go on from their state to the bit, and one rank within rounding") {
  const TemporaryFolder folder;
  check_going_on(tiny_job(by_rows(2)), folder.path() + "/state");
}

TEST_CASE("ranks that share rows find on held-out data what one rank finds, within rounding") {
  check_held_out(tiny_job(by_rows(2)));
}

TEST_CASE("a plan scatters where all would get sums, gathers what products read, and keeps its own rows for the way back") {
  const std::vector<Plan> plans = plans_of(tiny_job(by_rows(4)));
  const Counted found = count_exchanges(plans[2]);
  // Two blocks, two micro-batches: projection and second layer there, q, k, v and first layer back.
  CHECK(found.scattered == 4 * 2 * 2);
  // A micro-batch, there: what q, k, v and the first layer read, 2 · 2, and the final norm, 1. Back: the same inputs again, 4 + 1,
  // and gradients behind the projection and the second layer, 2 · 2, but of the last second layer, which the final norm's
  // backward pass leaves whole, and one for the embedding.
  CHECK(found.gathered == (4 + 1 + 4 + 1 + 4 - 1 + 1) * 2);
  CHECK(found.summed == 2 * 4);  // once a step, of each block's two norms weight and bias
  CHECK(norms_inputs(plans[2]).count > 0);
}

TEST_CASE("a part that is not the rank's rows is refused") {
  Plan plan = plans_of(tiny_job(by_rows(2)))[1];
  bool changed = false;
  for (Block& block : plan.blocks) {
    for (const Instruction& of : block.list.instructions) {
      if (!of.exchange.valid() || plan.at(of.exchange).kind != ExchangeKind::kReduceScatter) continue;
      block.list.uses[of.first_use + 1].bytes.count -= 4;
      changed = true;
    }
  }
  REQUIRE(changed);
  const auto verified = verify_plan(plan);
  REQUIRE_FALSE(verified);
  CHECK(verified.error().what == "use 1 has 2044 bytes, and 2048 are needed");  // 16 of 32 rows of 32 numbers
}

TEST_CASE("what ranks cannot share by rows is named before anything starts") {
  const auto with = [](std::uint32_t tensor, const auto& change) {
    RankJob job = tiny_job(by_rows(tensor));
    change(job);
    return refusal(job);
  };
  CHECK(with(2, [](RankJob&) {}).empty());
  CHECK(with(1, [](RankJob&) {}) == "--sequence-parallel divides rows among ranks that share layers, and there is one");
  CHECK(with(4, [](RankJob& job) { job.recipe.sequence = 15; }) ==
        "--sequence-parallel: 30 tokens of a micro-batch do not divide by --tp 4");
  const auto mixture = [](RankJob& job) {
    job.spec.experts = gating_defaults(GatingKind::kSwitch);
    job.spec.experts.count = 4;
  };
  CHECK(with(2, mixture) == "--sequence-parallel cannot go with a mixture of experts yet");
}

}  // namespace plimsoll
