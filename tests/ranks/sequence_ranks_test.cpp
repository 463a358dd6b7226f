// Ranks that share each sequence; they are threads here.
#include <catch2/catch.hpp>

#include <algorithm>

#include "core/plan/expand.h"
#include "sim/planner/ranks/job_plan.h"
#include "tests/ranks/team_training.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

using namespace test;

JobShape sliced(std::uint32_t context, Family family = Family::kGpt2) {
  return {.schedule = "gpipe", .ranks = 1, .micro_batches = 2, .layers = 2, .family = family, .context = context};
}

struct Counted {
  std::int64_t steps = 0, back = 0, sent_on = 0;
};

/// What a rank's step does in rings: other ranks' keys that its queries meet, there and back, and messages of keys and gradients.
Counted count_ring(const Plan& plan) {
  Counted found;
  const FlatBody step = expand(plan, *plan.body("step"));
  for (const Instruction& of : step.list.instructions) {
    if (of.kind == InstructionKind::kLaunch) {
      found.steps += plan.at(of.kernel).kind == OpKind::kAttentionStep ? 1 : 0;
      found.back += plan.at(of.kernel).kind == OpKind::kAttentionStepBackward ? 1 : 0;
    } else if (of.exchange.valid() && plan.at(of.exchange).kind == ExchangeKind::kSend) {
      ++found.sent_on;
    }
  }
  return found;
}

}  // namespace

TEST_CASE("ranks that share sequences compute what one rank computes: in fp64 nothing but the last digits differ") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {  // learned positions; rotated, with two key-value heads
    for (const std::uint32_t context : {2u, 4u}) {
      JobShape shape = sliced(context, family);
      shape.precision = Precision::kFp64;
      const auto [one, many] = check_rounding(tiny_job(shape), 4);
      CHECK(many.states != one.states);  // sums are of other terms
      shape.micro_batches = 1;  // a gradient is summed over ranks where it is not over micro-batches
      const RankJob single = tiny_job(shape);
      check_losses(all_ranks(single, 3), one_rank(single, 3), 1e-12);
    }
  }
}

TEST_CASE("where sequences are shared, fp32 losses stay within 1e-5 of those of one rank, bf16 within 1 %") {
  for (const auto& [precision, bound] : {std::pair(Precision::kFp32, 1e-5), std::pair(Precision::kBf16Mixed, 1e-2)}) {
    JobShape shape = sliced(4);
    shape.precision = precision;
    const RankJob job = tiny_job(shape);
    const Left one = one_rank(job, 6), many = all_ranks(job, 6);
    check_losses(many, one, bound);
    CHECK(many.losses.back() < many.losses.front());
  }
}

TEST_CASE("random delays change no bit of what ranks compute that share sequences") {
  check_delays(tiny_job(sliced(4)));
}

TEST_CASE("a pipeline of ranks that share sequences gives the bits of those ranks alone") {
  const Left flat = all_ranks(tiny_job(sliced(2)), 3);
  check_pipelines(sliced(2), flat);
}

TEST_CASE("replicas and slices of layers go with slices of sequences, within rounding of one rank") {
  JobShape replicas = sliced(2), layers = sliced(2, Family::kLlama);
  replicas.micro_batches = 1;
  replicas.replicas = 2;
  layers.tensor = 2;
  for (JobShape shape : {replicas, layers}) {
    shape.precision = Precision::kFp64;
    check_rounding(tiny_job(shape), 3);
  }
}

TEST_CASE("ranks that share sequences divide states, gradients and weights, and change no bit where nothing is clipped") {
  const auto shape = [](std::int64_t zero) {
    JobShape made = sliced(2);
    made.micro_batches = 1;
    made.clip = 0;
    made.zero = zero;
    return made;
  };
  const Left plain = all_ranks(tiny_job(shape(0)), 3);
  for (const std::int64_t zero : {1, 2, 3}) {
    INFO("ZeRO-" << zero);
    CHECK(all_ranks(tiny_job(shape(zero)), 3) == plain);
  }
}

TEST_CASE("ranks that share sequences go on from one rank's state, and one rank from theirs") {
  const TemporaryFolder folder;
  check_going_on(tiny_job(sliced(2)), folder.path() + "/kept");
}

TEST_CASE("ranks that share sequences find on held-out data what one rank finds, within rounding") {
  check_held_out(tiny_job(sliced(4)));
}

TEST_CASE("a rank meets the keys of every slice before its own, and passes on what it is given") {
  const std::vector<Plan> plans = plans_of(tiny_job(sliced(4)));
  // Two blocks, two micro-batches: 4 rings, there and back.
  for (const Plan& plan : plans) {
    const Counted found = count_ring(plan);
    CHECK(found.steps == 4 * plan.rank);
    CHECK(found.back == 4 * plan.rank);
    // Own and received keys go on twice, 1 + rank each, and with each step's gradients; from the last rank gradients alone.
    CHECK(found.sent_on == 4 * (plan.rank == 3 ? 3 : 2 * (1 + plan.rank) + plan.rank));
  }
  // 2 sequences of 4 positions in fp32, keys and values of width 32.
  const auto keys = std::find_if(plans[1].buffers.begin(), plans[1].buffers.end(),
                                 [](const Buffer& buffer) { return buffer.name == "keys and values"; });
  REQUIRE(keys != plans[1].buffers.end());
  CHECK(keys->bytes == Bytes(2 * 4 * 2 * 32 * 4));
}

TEST_CASE("sequences that cannot be shared are named before anything starts") {
  const auto with = [](std::uint32_t context, const auto& change) {
    RankJob job = tiny_job(sliced(context));
    change(job);
    return refusal(job);
  };
  const auto nothing = [](RankJob&) {};
  CHECK(with(2, nothing).empty());
  CHECK(with(3, nothing) == "--cp 3: sequences of 16 tokens do not divide by it");
  CHECK(with(2, [](RankJob& job) { job.spec.positions = PositionKind::kAlibi; }) == "--cp 2 cannot go with ALiBi positions yet");
  CHECK(with(2, [](RankJob& job) { job.platform.processors[0].kind = ProcessorKind::kGpu; }).find("GPUs") != std::string::npos);
}

}  // namespace plimsoll
