// Plans of a machine whose drive and device exchange data without host memory.
#include <catch2/catch.hpp>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "core/trace/summarize.h"
#include "formats/plans/plan_json.h"
#include "sim/des/simulate.h"
#include "sim/planner/lower_bound.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/sim/planner/plain_costs.h"
#include "tests/support/direct_ways.h"
#include "tests/support/plan_writer.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

const Strategy kWeights{.name = "weights", .recompute_every = 1, .parameters = Tier::kSsd, .optimizer = Tier::kSsd, .gradients = Tier::kHost};
const Strategy kGradients{.name = "gradients", .optimizer = Tier::kSsd, .gradients = Tier::kSsd};
const Strategy kActivations{.name = "activations", .activations = Tier::kSsd, .activation_blocks = 2};

Plan lowered(const Strategy& strategy, bool direct, std::int64_t accumulate = 1, ModelSpec spec = small_model(Family::kGpt2)) {
  const Platform machine = direct ? with_direct_ways(tiny_platform()) : tiny_platform();
  return lower_to_plan(spec, small_recipe(accumulate), machine, strategy, {.evaluation = true}).value();
}

/// Bytes of that kind that instructions of the step move between these spaces.
Bytes moved(const Plan& plan, const char* from, const char* to, TensorKind kind) {
  const FlatBody body = expand(plan, *plan.body("step"));
  Bytes bytes;
  for (const Instruction& instruction : body.list.instructions) {
    const bool moves = instruction.kind == InstructionKind::kCopy || instruction.kind == InstructionKind::kRead ||
                       instruction.kind == InstructionKind::kWrite;
    if (!moves) continue;
    const Buffer &source = plan.buffers[body.uses(instruction)[0].target], &target = plan.buffers[body.uses(instruction)[1].target];
    const bool wanted = plan.platform.at(source.space).name == from && plan.platform.at(target.space).name == to && source.category == kind;
    if (wanted) bytes += body.uses(instruction)[0].bytes;
  }
  return bytes;
}

Bytes host_arena(const Plan& plan) { return plan.arena_bytes(*plan.platform.space(SpaceKind::kHost)); }

Nanoseconds step_of(const Plan& plan) {
  const Trace trace = simulate(plan, "step", PlainCosts(), {.steps = 4, .keep_events = false}).value();
  return trace.steps[steady_step(trace)].duration();
}

}  // namespace

TEST_CASE("activations go from the device to the drive and back in one instruction each, and the host holds none") {
  const Plan staged = lowered(kActivations, false), direct = lowered(kActivations, true);
  constexpr TensorKind kKind = TensorKind::kActivation;
  const Bytes stored = moved(staged, "host", "ssd", kKind);
  CHECK(stored > Bytes(0));
  CHECK(moved(direct, "gpu0", "ssd", kKind) == stored);
  CHECK(moved(direct, "ssd", "gpu0", kKind) == stored);
  for (const char* other : {"gpu0", "ssd"}) {
    CHECK(moved(direct, other, "host", kKind) == Bytes(0));
    CHECK(moved(direct, "host", other, kKind) == Bytes(0));
  }
  CHECK(host_arena(direct) < host_arena(staged));
}

TEST_CASE("weights on the drive come to the device straight, and what the host updates comes to the host") {
  const Plan staged = lowered(kWeights, false), direct = lowered(kWeights, true);
  // In fp32 the update's weights are those that compute reads: they come to the host once a step, and to the device as often as before.
  constexpr TensorKind kKind = TensorKind::kParameter;
  const Bytes to_device = moved(staged, "host", "gpu0", kKind), to_host = moved(staged, "ssd", "host", kKind);
  CHECK(to_device > Bytes(0));
  CHECK(moved(direct, "ssd", "gpu0", kKind) + moved(direct, "ssd", "host", kKind) == to_host);
  CHECK(moved(direct, "ssd", "gpu0", kKind) >= to_device);  // in whole blocks
  CHECK(moved(direct, "host", "gpu0", kKind) == Bytes(0));
  CHECK(moved(direct, "ssd", "host", TensorKind::kFirstMoment) == moved(staged, "ssd", "host", TensorKind::kFirstMoment));
  CHECK(moved(direct, "host", "ssd", kKind) == moved(staged, "host", "ssd", kKind));
  CHECK(host_arena(direct) <= host_arena(staged));  // the fullest moment may be an update's
}

TEST_CASE("a complete gradient that waits on the drive goes there straight, and the host sees its norm") {
  ModelSpec spec = small_model(Family::kLlama);
  REQUIRE_FALSE(spec.tied_head);
  const auto kinds = [](const Plan& plan, const char* from, const char* to) {
    return moved(plan, from, to, TensorKind::kGradient) + moved(plan, from, to, TensorKind::kAccumulator);
  };
  const Plan staged = lowered(kGradients, false, 1, spec), direct = lowered(kGradients, true, 1, spec);
  const Bytes all = kinds(staged, "host", "ssd");
  CHECK(all > Bytes(0));
  CHECK(kinds(direct, "gpu0", "ssd") == all);
  CHECK(kinds(direct, "gpu0", "host") == Bytes(0));
  CHECK(kinds(direct, "host", "ssd") == Bytes(0));
  CHECK(kinds(direct, "ssd", "host") == all);  // for the update
  CHECK(host_arena(direct) <= host_arena(staged));
  // Of several micro-batches the host makes the sums, or the device where they pass block by block; then a head that is the embedding
  // adds its sum on the host.
  Strategy by_block = kGradients;
  by_block.loop_order = LoopOrder::kBreadthFirst;
  const Plan tied = lowered(by_block, true, 3), summed = lowered(kGradients, true, 3, spec);
  CHECK(kinds(tied, "gpu0", "host") > Bytes(0));
  CHECK(kinds(tied, "gpu0", "ssd") > Bytes(0));
  CHECK(kinds(summed, "gpu0", "ssd") == Bytes(0));
}

TEST_CASE("plans with direct transfers obey the law, are the same when their file is read, and are not below the bound") {
  for (const Strategy& strategy : {kWeights, kGradients, kActivations}) {
    for (const std::int64_t accumulate : {1, 2}) {
      CAPTURE(strategy.name, accumulate);
      const Plan plan = lowered(strategy, true, accumulate);
      CHECK(verify_plan(plan));
      const std::string text = write_plan(plan);
      const auto read = read_plan(text, "plan");
      if (!read) FAIL(read.error().text());
      CHECK(write_plan(*read) == text);
      const auto bound = lower_bound(plan, PlainCosts());
      REQUIRE(bound);
      CHECK(step_of(plan) >= bound->step);
    }
  }
}

TEST_CASE("a direct transfer takes the drive's rate and its share of the device's link, which other copies have less of") {
  // The way from the drive: 2 GB/s, 80 us before the first byte. 2,000,000 bytes alone: 80 + 1000 us. 10,000,000 bytes from the host
  // at 10 GB/s alone: 5 + 1000 us. Together they put 12,000,000 bytes through pcie.h2d, which has 10 GB/s: 1200 us at the least.
  const auto spans = [](bool direct, bool both) {
    PlanWriter w;
    if (direct) w.plan().platform = with_direct_ways(w.plan().platform);
    const Bytes small(2'000'000), large(10'000'000);
    const BufferId file = w.buffer("file", "ssd", Bytes(0), small), arrived = w.buffer("arrived", direct ? "gpu0" : "host", Bytes(0), small);
    w.copy(InstructionKind::kRead, "ssd.read", read(file), write(arrived));
    if (both) {
      const BufferId kept = w.buffer("kept", "host", Bytes(1 << 24), large), copied = w.buffer("copied", "gpu0", Bytes(1 << 24), large);
      w.copy(InstructionKind::kCopy, "h2d", read(kept), write(copied));
    }
    const Trace trace = simulate(w.finish(), "step", PlainCosts(), {.steps = 1}).value();
    std::vector<std::int64_t> micros;
    for (const TraceEvent& event : trace.events) micros.push_back((event.end - event.start).count / 1000);
    return micros;
  };
  CHECK(spans(true, false) == std::vector<std::int64_t>{1080});
  const std::vector<std::int64_t> shared = spans(true, true), apart = spans(false, true);
  CHECK(apart[1] == 1005);  // a read into host memory leaves the link alone
  CHECK(shared[1] > apart[1]);
  CHECK(std::max(shared[0], shared[1]) >= 1200);
  CHECK(std::max(shared[0], shared[1]) <= 1290);
}
