#include <catch2/catch.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/verify_plan.h"
#include "executor/cpu/cpu_executor.h"
#include "executor/data/token_source.h"
#include "formats/plans/plan_json.h"
#include "sim/des/simulate.h"

namespace plimsoll {

std::string_view embedded_examples(std::string_view name);

namespace {

constexpr std::int64_t kHidden = 64;
constexpr std::int64_t kRows = 4 * 255;  // of a micro-batch: 4 windows of 255 tokens and a target
constexpr std::size_t kBatch = 4, kTokens = 2, kRowsBuffer = 1;

Plan hand_made_plan() {
  auto plan = read_plan(embedded_examples("examples/hand_made_plan.json"), "hand_made_plan.json");
  REQUIRE(plan);
  return std::move(*plan);
}

/// The plan without dependency number `which` of its only block.
Plan without(Plan plan, std::uint32_t which) {
  InstructionList& list = plan.blocks[0].list;
  list.dependencies.erase(list.dependencies.begin() + which);
  for (Instruction& instruction : list.instructions) {
    const bool inside =
        which >= instruction.first_dependency && which < instruction.first_dependency + instruction.dependency_count;
    if (inside) --instruction.dependency_count;
    if (instruction.first_dependency > which) --instruction.first_dependency;
  }
  return plan;
}

/// The plan with one slot where it has two: what was allowed two steps ahead is allowed one.
Plan with_one_slot(Plan plan) {
  plan.buffers[kBatch].slots = plan.buffers[kTokens].slots = 1;
  for (Dependency& dependency : plan.blocks[0].list.dependencies) {
    dependency.distance = std::min(dependency.distance, 1u);
  }
  return plan;
}

/// Which instruction of the block dependency number `which` belongs to.
std::size_t owner_of(const InstructionList& list, std::uint32_t which) {
  std::size_t owner = 0;
  while (which >= list.instructions[owner].first_dependency + list.instructions[owner].dependency_count) ++owner;
  return owner;
}

/// Costs that a person can add up, in nanoseconds: look-up 3000, squares 4000, any copy 10000, loading 20000, reporting
/// 5000.
class RoundCosts final : public CostModel {
 public:
  Result<Cost> kernel(const Processor&, const Kernel& kernel) const override {
    return exactly(kernel.kind == OpKind::kEmbedding ? 3000 : 4000);
  }
  Result<Cost> transfer(const Platform&, const Link& link, Bytes) const override { return exactly(link.latency.count); }
  Result<Cost> host_work(const Processor&, HostTask task, Bytes) const override {
    return exactly(task == HostTask::kLoadTokens ? 20000 : 5000);
  }
  Nanoseconds issue_overhead(const Platform&, QueueKind) const override { return Nanoseconds(0); }
  std::string source() const override { return "round numbers"; }

 private:
  static Cost exactly(std::int64_t ns) { return {Nanoseconds(ns), Nanoseconds(ns), Nanoseconds(ns)}; }
};

/// A corpus of one token over and over.
class SameToken final : public TokenSource {
 public:
  explicit SameToken(std::int32_t token) : token_(token) {}
  std::int64_t size() const override { return 4096; }
  void read(std::int64_t, std::span<std::int32_t> out) const override { std::fill(out.begin(), out.end(), token_); }

 private:
  std::int32_t token_;
};

/// A corpus whose token at offset i is i mod 251, so that windows differ.
class CountingTokens final : public TokenSource {
 public:
  std::int64_t size() const override { return 4096; }
  void read(std::int64_t offset, std::span<std::int32_t> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int32_t>((offset + std::int64_t(i)) % 251);
  }
};

/// The answers of 20 steps on two threads; a jitter seed delays every instruction at random.
std::vector<double> answers_of(const Plan& plan, std::uint64_t jitter_seed) {
  auto executor = CpuExecutor::create(plan, {.threads = 2, .jitter_seed = jitter_seed, .backend = "test"});
  REQUIRE(executor);
  (*executor)->initialize();
  const auto trace = (*executor)->run_steps({.steps = 20}, CountingTokens());
  REQUIRE(trace);
  std::vector<double> answers;
  for (const StepSummary& step : trace->steps) answers.push_back(step.loss);
  return answers;
}

TEST_CASE("the hand-made plan obeys the law of plans") {
  const auto report = verify_plan(hand_made_plan());
  REQUIRE(report);
  CHECK(report->instructions == 6);
  CHECK(report->expanded_bodies == 3);  // two slots: a third step is the first to use bytes again
}

TEST_CASE("each dependency of the hand-made plan carries a proof: without it, verification asks for it back") {
  const Plan plan = hand_made_plan();
  const InstructionList& list = plan.blocks[0].list;
  REQUIRE(list.dependencies.size() == 8);
  for (std::uint32_t which = 0; which < 8; ++which) {
    const auto refused = verify_plan(without(plan, which));
    REQUIRE_FALSE(refused);
    const Dependency& gone = list.dependencies[which];
    CHECK(refused.error().kind == ErrorKind::kDefect);
    CHECK_THAT(refused.error().where, Catch::Contains("instruction " + std::to_string(owner_of(list, which)) + " ("));
    CHECK(refused.error().remedy == "add a dependency on instruction " + std::to_string(gone.target) +
                                        " with distance " + std::to_string(gone.distance));
  }
}

TEST_CASE("one slot fewer, or one byte shared, and the hand-made plan is refused") {
  Plan one_slot = hand_made_plan();
  one_slot.buffers[kBatch].slots = 1;
  const auto reused_too_soon = verify_plan(one_slot);
  REQUIRE_FALSE(reused_too_soon);
  CHECK_THAT(reused_too_soon.error().what, Catch::Contains("instruction 1 (copy) of the step before"));

  Plan overlapping = hand_made_plan();
  overlapping.buffers[kTokens].offset = overlapping.buffers[kRowsBuffer].offset;
  const auto shared = verify_plan(overlapping);
  REQUIRE_FALSE(shared);
  CHECK_THAT(shared.error().what, Catch::Contains("as buffer rows") && Catch::Contains("as buffer tokens"));
}

TEST_CASE("the hand-made plan is refused with a later dependency, a wider queue or a smaller device") {
  Plan backwards = hand_made_plan();
  backwards.blocks[0].list.dependencies[1].target = 4;  // the copy up after the copy down, instead of after the load
  const auto later = verify_plan(backwards);
  REQUIRE_FALSE(later);
  CHECK_THAT(later.error().what, Catch::Contains("depends on instruction 4, which is not earlier"));

  Plan wide = hand_made_plan();
  wide.platform.queues[wide.platform.queue("compute")->index].width = 2;
  const auto unordered = verify_plan(wide);
  REQUIRE_FALSE(unordered);
  CHECK_THAT(unordered.error().what, Catch::Contains("instruction 2 (launch embedding)"));

  Plan small = hand_made_plan();
  small.platform.spaces[0].usable = 256 * kKiB;
  const auto full = verify_plan(small);
  REQUIRE_FALSE(full);
  CHECK(full.error().what == "needs 327.2 KiB, 256.0 KiB is usable");
}

TEST_CASE("a second slot takes the copy out of the hand-made plan's steps") {
  // Two slots: loading never waits and is the slowest queue, so a step takes its 20 us. The first step ends after load
  // 20, copy 10, look-up 3, squares 4, copy 10, report 5 = 52.
  const auto two = simulate(hand_made_plan(), "step", RoundCosts(), {.steps = 5});
  REQUIRE(two);
  CHECK(two->steps[0].end == Nanoseconds(52000));
  for (std::size_t step = 1; step < 5; ++step) CHECK(two->steps[step].duration() == Nanoseconds(20000));

  // One slot: the next load waits for the copy of this one: 20 + 10.
  const Plan plan = with_one_slot(hand_made_plan());
  REQUIRE(verify_plan(plan));
  const auto one = simulate(plan, "step", RoundCosts(), {.steps = 5});
  REQUIRE(one);
  CHECK(one->steps[0].end == Nanoseconds(52000));
  for (std::size_t step = 1; step < 5; ++step) CHECK(one->steps[step].duration() == Nanoseconds(30000));
}

TEST_CASE("the CPU runs the hand-made plan: its answer is the sum of the squares of the rows looked up") {
  auto executor = CpuExecutor::create(hand_made_plan(), {.threads = 1, .backend = "test"});
  REQUIRE(executor);
  // Row t of the table is t everywhere, and every token is 3: 1020 rows · 64 columns · 3².
  std::vector<float> table(256 * kHidden);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i / kHidden);
  (*executor)->set_state(TensorKind::kParameter, GroupId(0), [&](std::span<std::byte> place) {
    std::ranges::copy(std::as_bytes(std::span(table)), place.begin());
  });
  const auto trace = (*executor)->run_steps({.steps = 4}, SameToken(3));
  REQUIRE(trace);
  CHECK(trace->events.size() == 4 * 6);
  for (const StepSummary& step : trace->steps) CHECK(step.loss == kRows * kHidden * 9.0);
  CHECK((*executor)->check_touched());
}

TEST_CASE("the hand-made plan's answers depend neither on delays nor on the number of slots") {
  const std::vector<double> answers = answers_of(hand_made_plan(), 0);
  CHECK(answers[0] != answers[1]);
  for (const std::uint64_t jitter_seed : {1, 2, 3}) CHECK(answers_of(hand_made_plan(), jitter_seed) == answers);
  CHECK(answers_of(with_one_slot(hand_made_plan()), 0) == answers);
}

}  // namespace
}  // namespace plimsoll
