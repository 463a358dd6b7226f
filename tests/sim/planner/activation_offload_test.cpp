#include <catch2/catch.hpp>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "core/trace/summarize.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/des/simulate.h"
#include "sim/planner/lower_bound.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

// Of 2 sequences of 32 tokens, 64 rows, a block of the small GPT keeps in fp32: its input, two norms, the attention's and the
// first residual's output, 5 · 64 · 32 · 4 = 40960; qkv, 64 · 96 · 4 = 24576; ffn in and its activation, 2 · 64 · 64 · 4 = 32768;
// statistics of two norms, 2 · 64 · 2 · 4 = 1024, and of 4 heads, 64 · 4 · 4 = 1024. Together 100352.
constexpr std::int64_t kKeptByBlock = 100352;
constexpr std::int64_t kInputOfBlock = 64 * 32 * 4;

Strategy away(Tier tier, std::int64_t blocks, std::int64_t recompute = 0, std::int64_t slots = 2) {
  return {.name = "away", .recompute_every = recompute, .activations = tier, .activation_blocks = blocks,
          .staging_slots = slots};
}

Plan lowered(const Strategy& strategy, Family family = Family::kGpt2, std::int64_t accumulate = 1) {
  return lower_to_plan(small_model(family), small_recipe(accumulate), tiny_platform(), strategy, {.evaluation = true}).value();
}

Bytes device_peak(const Plan& plan) { return plan.arena_bytes(*plan.platform.space(SpaceKind::kDevice)); }

/// What lives together on the device at the fullest moment.
std::int64_t live_peak(const Plan& plan) { return lower_bound(plan, CatalogueCostModel()).value().device.count; }

/// Bytes of activations that a queue moves in a step.
Bytes moved(const Plan& plan, std::string_view queue) {
  const FlatBody body = expand(plan, *plan.body("step"));
  Bytes bytes;
  for (const Instruction& instruction : body.list.instructions) {
    if (plan.platform.at(instruction.queue).name != queue) continue;
    const Use& source = body.uses(instruction)[0];
    if (plan.buffers[source.target].category == TensorKind::kActivation) bytes += source.bytes;
  }
  return bytes;
}

Nanoseconds simulated_step(const Plan& plan) {
  const Trace trace = simulate(plan, "step", CatalogueCostModel(), {.steps = 4, .keep_events = false}).value();
  return trace.steps[steady_step(trace)].duration();
}

}  // namespace

TEST_CASE("what backward reads of the first blocks crosses to the host once a micro-batch, and back once") {
  for (const std::int64_t accumulate : {1, 3}) {
    for (const std::int64_t blocks : {1, 2, 4}) {
      const Plan kept = lowered(away(Tier::kHost, blocks), Family::kGpt2, accumulate);
      CHECK(moved(kept, "d2h") == Bytes(accumulate * blocks * kKeptByBlock));
      CHECK(moved(kept, "h2d") == Bytes(accumulate * blocks * kKeptByBlock));
      const Plan recomputed = lowered(away(Tier::kHost, blocks, 1), Family::kGpt2, accumulate);
      CHECK(moved(recomputed, "d2h") == Bytes(accumulate * blocks * kInputOfBlock));
      CHECK(moved(recomputed, "h2d") == Bytes(accumulate * blocks * kInputOfBlock));
    }
  }
}

TEST_CASE("either order of micro-batches moves the same activations, and breadth-first has fewer of them wait on the device") {
  Strategy strategy = away(Tier::kHost, 4);
  strategy.loop_order = LoopOrder::kBreadthFirst;
  const Plan plan = lowered(strategy, Family::kGpt2, 3);
  CHECK(moved(plan, "d2h") == Bytes(3 * 4 * kKeptByBlock));
  CHECK(moved(plan, "h2d") == Bytes(3 * 4 * kKeptByBlock));
  Strategy resident;
  resident.loop_order = LoopOrder::kBreadthFirst;
  // Twelve sets of activations wait for backward when none is away; with two slots two are on the device at a time.
  CHECK(live_peak(lowered(resident, Family::kGpt2, 3)) - live_peak(plan) > 9 * kKeptByBlock);
}

TEST_CASE("of segments that are recomputed together only the inputs of those that start in the first blocks leave") {
  CHECK(moved(lowered(away(Tier::kHost, 1, 2)), "d2h") == Bytes(kInputOfBlock));
  CHECK(moved(lowered(away(Tier::kHost, 2, 2)), "d2h") == Bytes(kInputOfBlock));      // block 1 is in the segment of block 0
  CHECK(moved(lowered(away(Tier::kHost, 3, 2)), "d2h") == Bytes(2 * kInputOfBlock));  // blocks 0 and 2
}

TEST_CASE("the device peak falls by exactly what the blocks that are away keep") {
  // The fullest moment of the resident plan is in the head's backward pass, when all four blocks wait for theirs: 528904 bytes
  // beside what lasts. With one slot nothing comes back before its block's turn, so blocks 0 and 1 are missing then, 2 · 100352,
  // and later moments hold less. Addresses are another matter: what the packing loses between buffers is below 1 % of the arena.
  const Plan resident = lowered({});
  for (const Tier tier : {Tier::kHost, Tier::kSsd}) {
    const Plan plan = lowered(away(tier, 2, 0, 1));
    CHECK(live_peak(resident) - live_peak(plan) == 2 * kKeptByBlock);
    CHECK(100 * (device_peak(plan).count - live_peak(plan)) < device_peak(plan).count);
  }
}

TEST_CASE("what is away on the host shares no bytes with what updates read, where there is room, and does where there is not") {
  // Else the next step's forward pass would wait for the CPU's last update before it could send the first block's away.
  Strategy strategy = away(Tier::kHost, 4);
  strategy.optimizer = Tier::kHost;
  strategy.gradients = Tier::kHost;
  const auto on = [&](const Platform& platform) {
    return lower_to_plan(small_model(Family::kGpt2), small_recipe(1), platform, strategy).value();
  };
  const Plan roomy = on(tiny_platform());
  const SpaceId host = *roomy.platform.space(SpaceKind::kHost);
  for (const Buffer& away : roomy.buffers) {
    if (away.space != host || away.category != TensorKind::kActivation) continue;
    for (const Buffer& other : roomy.buffers) {
      if (other.space != host || other.category == TensorKind::kActivation) continue;
      INFO(away.name << " and " << other.name);
      CHECK((away.offset + away.extent() <= other.offset || other.offset + other.extent() <= away.offset));
    }
  }
  Platform platform = tiny_platform();
  platform.spaces[host.index].usable = roomy.arena_bytes(host) - Bytes(1);
  const Plan tight = on(platform);
  CHECK(tight.arena_bytes(host) < roomy.arena_bytes(host));
  CHECK(verify_plan(tight));
}

TEST_CASE("activations on the SSD pass through the host both ways, in whole storage blocks") {
  const Plan plan = lowered(away(Tier::kSsd, 2));
  // Of the eleven tensors the norms' statistics, 512 bytes each, and the heads', 1024, grow to one block of 4096 each.
  const Bytes padded(2 * (kKeptByBlock + 2 * (4096 - 512) + (4096 - 1024)));
  CHECK(moved(plan, "ssd.write") == padded);
  CHECK(moved(plan, "ssd.read") == padded);
  CHECK(moved(plan, "d2h") == Bytes(2 * kKeptByBlock));
  const FlatBody body = expand(plan, *plan.body("step"));
  for (const Instruction& instruction : body.list.instructions) {
    if (instruction.kind != InstructionKind::kRead && instruction.kind != InstructionKind::kWrite) continue;
    for (const Use& use : body.uses(instruction)) {
      CHECK((plan.buffers[use.target].offset + use.offset).count % kStorageAlignment.count == 0);
      CHECK(use.bytes.count % kStorageAlignment.count == 0);
    }
  }
}

TEST_CASE("plans whose activations wait elsewhere obey the law of plans") {
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    for (const Tier tier : {Tier::kHost, Tier::kSsd}) {
      for (const std::int64_t blocks : {1, 2, 4}) {
        for (const std::int64_t recompute : {0, 1, 3}) {
          for (const std::int64_t slots : {1, 2, 5}) {
            Strategy strategy = away(tier, blocks, recompute, slots);
            strategy.parameters = strategy.optimizer = strategy.gradients = slots == 5 ? Tier::kHost : Tier::kDevice;
            if (slots > 1) strategy.loop_order = LoopOrder::kBreadthFirst;
            const auto verified = verify_plan(lowered(strategy, family, 1 + blocks % 2));
            INFO(describe(strategy) << ": " << (verified ? std::string() : verified.error().text()));
            CHECK(verified);
          }
        }
      }
    }
  }
}

TEST_CASE("with a second slot, activations travel while neighbouring blocks compute") {
  const Plan one = lowered(away(Tier::kHost, 4, 0, 1));
  const Plan two = lowered(away(Tier::kHost, 4, 0, 2));
  CHECK(simulated_step(two) < simulated_step(one));
  CHECK(device_peak(one) < device_peak(two));
}
