// Ranks that share each layer; they are threads here.
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/plan/expand.h"
#include "core/plan/state_part.h"
#include "sim/planner/ranks/job_plan.h"
#include "tests/ranks/team_training.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

using namespace test;

JobShape shared(std::uint32_t tensor, Family family = Family::kGpt2) {
  return {.schedule = "gpipe", .ranks = 1, .micro_batches = 2, .layers = 2, .family = family, .tensor = tensor};
}

/// Two replicas that divide the states, of two ranks that share layers.
JobShape divided() {
  JobShape shape = shared(2);
  shape.micro_batches = 1;
  shape.replicas = 2;
  shape.zero = 1;
  return shape;
}

std::string bytes_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The elements of a rank's weights that all ranks have alike.
std::vector<std::byte> common_part(const Plan& plan, CpuExecutor& executor, GroupId group) {
  const auto bytes = executor.state(TensorKind::kParameter, group);
  std::vector<std::byte> common(bytes.begin(), bytes.end());
  if (group.index == 0 || group.index + 1 == lay_out_parameters(plan.spec).groups.size()) return common;
  const ParameterGroup slice = lay_out_parameters(slice_of_model(plan.spec, plan.ranks)).at(group);
  for (const ElementRun& run : own_runs_of_slice(slice)) {
    const auto first = static_cast<std::ptrdiff_t>(run.own) * 4;
    std::fill_n(common.begin() + first, run.count * 4, std::byte{0});
  }
  return common;
}

}  // namespace

TEST_CASE("ranks that share layers compute what one rank computes: in fp64 nothing but the last digits differ") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    for (const std::uint32_t tensor : {2u, 4u}) {
      if (family == Family::kLlama && tensor == 4) continue;  // it has two key-value heads
      JobShape shape = shared(tensor, family);
      shape.precision = Precision::kFp64;
      const auto [one, many] = check_rounding(tiny_job(shape), 4);
      CHECK(many.states != one.states);  // sums are of other terms
    }
  }
}

TEST_CASE("in fp32 losses stay within 1e-5 of those of one rank, in bf16 within 1 %") {
  for (const auto& [precision, bound] : {std::pair(Precision::kFp32, 1e-5), std::pair(Precision::kBf16Mixed, 1e-2)}) {
    for (const std::uint32_t tensor : {2u, 4u}) {
      JobShape shape = shared(tensor);
      shape.precision = precision;
      const RankJob job = tiny_job(shape);
      const Left one = one_rank(job, 6), many = all_ranks(job, 6);
      check_losses(many, one, bound);
      CHECK(many.losses.back() < many.losses.front());
    }
  }
}

TEST_CASE("random delays change no bit of what ranks compute that share layers") {
  check_delays(tiny_job(shared(2)));
}

TEST_CASE("a pipeline of ranks that share layers, and replicas of them, give the bits of those ranks alone") {
  const Left flat = all_ranks(tiny_job(shared(2)), 3);
  check_pipelines(shared(2), flat);
  JobShape replicas = shared(2);
  replicas.micro_batches = 1;
  replicas.replicas = 2;
  CHECK(all_ranks(tiny_job(replicas), 3) == flat);
}

TEST_CASE("replicas of ranks that share layers divide states and weights, and change no bit where nothing is clipped") {
  const auto shape = [](std::int64_t zero, double clip) {
    JobShape made = shared(2);
    made.micro_batches = 1;
    made.replicas = 2;
    made.zero = zero;
    made.clip = clip;
    return made;
  };
  const Left plain = all_ranks(tiny_job(shape(0, 0)), 3), clipped = all_ranks(tiny_job(shape(0, 1)), 3);
  for (const std::int64_t zero : {1, 2, 3}) {
    INFO("ZeRO-" << zero);
    CHECK(all_ranks(tiny_job(shape(zero, 0)), 3) == plain);
    check_losses(all_ranks(tiny_job(shape(zero, 1)), 3), clipped, 1e-5);
  }
}

TEST_CASE("what ranks that share layers all have stays the same on all of them, to the bit") {
  const RankJob job = tiny_job(shared(2));
  const std::vector<Plan> plans = plans_of(job);
  ThreadHub hub(2);
  std::vector<std::unique_ptr<CpuExecutor>> own;
  for (const Plan& plan : plans) own.push_back(executor_of(plan, {.transport = &hub.at(plan.rank)}));
  {
    std::vector<std::jthread> threads;
    for (auto& executor : own) threads.emplace_back([&] { CHECK(executor->run_steps({.steps = 4}, kText)); });
  }
  for (std::uint32_t group = 0; group < lay_out_parameters(job.spec).groups.size(); ++group) {
    INFO("group " << group);
    const auto first = common_part(plans[0], *own[0], GroupId(group));
    REQUIRE(std::count(first.begin(), first.end(), std::byte{0}) < static_cast<std::ptrdiff_t>(first.size()));
    CHECK(common_part(plans[1], *own[1], GroupId(group)) == first);
  }
}

TEST_CASE("ranks that share layers begin with one rank's weights, and keep their state in one rank's file") {
  const TemporaryFolder folder;
  const std::string one = folder.path() + "/one", many = folder.path() + "/many";
  for (const JobShape& shape : {shared(2), shared(4), shared(2, Family::kLlama), divided()}) {
    const RankJob job = tiny_job(shape);
    INFO(describe(job));
    alone(job, [&](Executor& executor) { save(one, job, executor, 0); });
    on_ranks(job, [&](JobExecutor& team) { save(many, job, team, 0); });
    CHECK(bytes_in(many) == bytes_in(one));
    check_going_on(job, many);
  }
}

TEST_CASE("ranks that share layers find on held-out data what one rank finds, within rounding") {
  check_held_out(tiny_job(shared(2)));
}

TEST_CASE("a plan sums twice a block on the way there and twice on the way back, and keeps its part of the blocks") {
  const RankJob job = tiny_job(shared(4));
  const std::vector<Plan> plans = plans_of(job);
  const FlatBody step = expand(plans[2], *plans[2].body("step"));
  const auto sums = std::count_if(step.list.instructions.begin(), step.list.instructions.end(), [&](const Instruction& of) {
    return of.exchange.valid() && plans[2].at(of.exchange).channel == kSlicesChannel;
  });
  CHECK(sums == 2 * 2 * 4);  // blocks, micro-batches
  CHECK(tensor_share(plans[2]) == TensorShare{2, 4});
  // Width 32, four heads of 8, 64 columns. A block: matrices 3·32·32 + 32·32 + 2·32·64 = 8192, a quarter of which is 2048;
  // biases of q, k, v and of the first layer 96 + 64, a quarter is 40; two norms and two biases of 32 are whole: 6 · 32 = 192.
  for (const StateBinding& binding : plans[2].state) {
    if (binding.kind == TensorKind::kParameter && binding.group == GroupId(1))
      CHECK(plans[2].at(binding.buffer).bytes == Bytes((2048 + 40 + 192) * 4));
  }
}

TEST_CASE("what ranks cannot share is named before anything starts") {
  const auto with = [](std::uint32_t tensor, const auto& change) {
    RankJob job = tiny_job(shared(1));
    job.tensor = tensor;
    change(job);
    return refusal(job);
  };
  const auto nothing = [](RankJob&) {};
  CHECK(with(2, nothing).empty());
  CHECK(with(3, nothing) == "--tp 3: the 4 heads of tiny do not divide by it");
  CHECK(with(4, [](RankJob& job) { job.spec.kv_heads = 2; }) == "--tp 4: the 2 key-value heads of tiny do not divide by it");
  CHECK(with(4, [](RankJob& job) { job.spec.ffn = 66; }) ==
        "--tp 4: the 66 columns of the feed-forward layer of tiny do not divide by it");
  CHECK(with(2, [](RankJob& job) { job.recipe.optimizer = OptimizerKind::kLamb; }) ==
        "--tp 2 cannot go with an optimizer that looks at whole tensors yet");
  CHECK(with(2, [](RankJob& job) { job.spec.qk_norm = true; }).find("norms of queries and keys") != std::string::npos);
}

TEST_CASE("a plan whose state is not the slice that it computes with is refused") {
  std::vector<Plan> plans = plans_of(tiny_job(shared(2)));
  for (StateBinding& binding : plans[1].state) {
    if (binding.parts == 2) binding.part = 0;
  }
  ThreadHub hub(2);
  const auto wrong = CpuExecutor::create(plans[1], {.transport = &hub.at(1)});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().what == "holds part 0 of 2, and rank 1 has slice 1 of 2");
}

}  // namespace plimsoll
