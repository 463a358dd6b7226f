// What the order of micro-batches and the place of gradients change: traffic and memory, by hand.
#include <catch2/catch.hpp>

#include <set>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

Plan lowered(const Strategy& strategy, std::int64_t accumulate, bool tied = true) {
  ModelSpec spec = small_model(Family::kGpt2);
  spec.tied_head = tied;
  Plan plan = lower_to_plan(spec, small_recipe(accumulate), tiny_platform(), strategy).value();
  const auto verified = verify_plan(plan);
  if (!verified) FAIL(verified.error().text());
  return plan;
}

Bytes peak(const Plan& plan, SpaceKind kind) { return plan.arena_bytes(*plan.platform.space(kind)); }

/// Bytes that a queue moves out of buffers of one kind, before the update and with it.
Bytes moved(const Plan& plan, const std::string& queue, TensorKind kind, bool with_update = true) {
  const FlatBody body = expand(plan, *plan.body("step"));
  Bytes sum;
  for (const Instruction& instruction : body.list.instructions) {
    if (plan.platform.at(instruction.queue).name != queue || instruction.kind == InstructionKind::kLaunch) continue;
    if (instruction.phase == Phase::kOptimizer && !with_update) continue;
    const Use& source = body.uses(instruction)[0];
    if (plan.buffers[source.target].category == kind) sum += source.bytes;
  }
  return sum;
}

Strategy streamed(LoopOrder order, Tier parameters = Tier::kHost, std::int64_t recompute_every = 1) {
  return {.name = "stream", .recompute_every = recompute_every, .parameters = parameters,
          .optimizer = parameters == Tier::kHost ? Tier::kHost : Tier::kSsd, .gradients = Tier::kHost, .loop_order = order};
}

/// Gradients of all groups in whole blocks of a drive.
Bytes gradient_blocks(const Plan& plan) {
  Bytes sum;
  for (const ParameterGroup& group : lay_out_parameters(plan.spec).groups) {
    sum += align_up(Bytes(4 * group.elements), kStorageAlignment);
  }
  return sum;
}

}  // namespace

TEST_CASE("in mixed precision too, either order with gradients anywhere lowers to a plan that obeys the law of plans") {
  Recipe recipe = small_recipe(2);
  recipe.precision = Precision::kBf16Mixed;
  for (const Family family : {Family::kGpt2, Family::kLlama}) {
    for (const LoopOrder order : {LoopOrder::kDepthFirst, LoopOrder::kBreadthFirst}) {
      for (const Tier weights : {Tier::kDevice, Tier::kHost, Tier::kSsd}) {
        for (const Tier gradients : {Tier::kDevice, Tier::kHost, Tier::kSsd}) {
          for (const Tier optimizer : {Tier::kHost, Tier::kSsd}) {
            const Strategy strategy{.name = "made up", .recompute_every = 3, .parameters = weights, .optimizer = optimizer,
                                    .gradients = gradients, .loop_order = order};
            const auto plan = lower_to_plan(small_model(family), recipe, tiny_platform(), strategy, {.evaluation = true});
            REQUIRE(plan);
            const auto verified = verify_plan(*plan);
            INFO(describe(strategy) << ": " << (verified ? std::string() : verified.error().text()));
            CHECK(verified);
          }
        }
      }
    }
  }
}

TEST_CASE("breadth-first order fetches streamed weights once a pass, depth-first order once a micro-batch") {
  for (const std::int64_t every : {0, 1, 3}) {
    for (const std::int64_t accumulate : {2, 5}) {
      const auto fetched = [&](LoopOrder order, Tier from, const char* queue) {
        return moved(lowered(streamed(order, from, every), accumulate), queue, TensorKind::kParameter, false);
      };
      const auto ratio = [&](Tier from, const char* queue) {
        return fetched(LoopOrder::kDepthFirst, from, queue).count / fetched(LoopOrder::kBreadthFirst, from, queue).count;
      };
      CHECK(ratio(Tier::kHost, "h2d") == accumulate);
      CHECK(ratio(Tier::kSsd, "ssd.read") == accumulate);
      const Bytes once = moved(lowered(streamed(LoopOrder::kDepthFirst, Tier::kHost, every), 1), "h2d", TensorKind::kParameter);
      CHECK(fetched(LoopOrder::kBreadthFirst, Tier::kHost, "h2d") == once);
    }
  }
}

TEST_CASE("the device peak of breadth-first order is one micro-batch's block and the block inputs of all") {
  // Four blocks of width 32, 3 micro-batches of 64 rows, all recomputed: the peak is in the backward pass of block 3, at the
  // second micro-batch's gradient of the last weight, when the first one's sum exists.
  const std::int64_t row_vectors = 64 * 32 * 4;  // 8192: a block's input, or the gradient of its output
  const std::int64_t weights = 34304;            // 8544 · 4 = 34176, to the next 256: streamed weights, gradient, sum
  // norm 1, attention, residual 1, norm 2; qkv of width 96; ffn in, activation and its gradient of width 64; two statistics of 2
  // and the log-sum-exp of 4 numbers a row.
  const std::int64_t recomputed = 4 * row_vectors + 3 * row_vectors + 3 * 2 * row_vectors + (2 + 2 + 4) * 64 * 4;
  const std::int64_t first = 3 + 1;   // inputs of blocks 0 to 2, gradient of block 2's output
  const std::int64_t others = 4 + 1;  // inputs of blocks 0 to 3, gradient of block 3's output
  const std::int64_t tokens = 1024;   // 2 · 33 · 4 = 264 bytes in two slots 512 apart, the next buffer at the next 256
  const auto device = [](std::int64_t accumulate) {
    Strategy strategy = streamed(LoopOrder::kBreadthFirst);
    strategy.staging_slots = 1;
    return peak(lowered(strategy, accumulate), SpaceKind::kDevice).count;
  };
  CHECK(device(3) == 3 * tokens + 3 * weights + (first + 2 * others) * row_vectors + recomputed + 2 * 256 + 8);  // three losses
  CHECK(device(6) == device(3) + 3 * (tokens + others * row_vectors + 256));
}

TEST_CASE("the logits of one micro-batch at a time are held in either order") {
  for (const LoopOrder order : {LoopOrder::kDepthFirst, LoopOrder::kBreadthFirst}) {
    const Plan plan = lowered({.name = "resident", .loop_order = order}, 3);
    std::set<std::int64_t> places;
    for (const Buffer& buffer : plan.buffers) {
      if (buffer.name == "logits") places.insert(buffer.offset.count);
    }
    CHECK(places.size() == 1);
  }
}

TEST_CASE("breadth-first order sends one sum of gradients to the host, depth-first order each micro-batch's") {
  const auto sent = [](LoopOrder order, TensorKind kind) { return moved(lowered(streamed(order), 3), "d2h", kind); };
  const ModelSpec spec = small_model(Family::kGpt2);
  // The tied head's part, 256 · 32, is summed apart.
  const std::int64_t gradients = 4 * (parameter_count(spec) + 256 * 32);
  CHECK(sent(LoopOrder::kDepthFirst, TensorKind::kGradient) == Bytes(3 * gradients));
  CHECK(sent(LoopOrder::kDepthFirst, TensorKind::kAccumulator) == Bytes(0));
  CHECK(sent(LoopOrder::kBreadthFirst, TensorKind::kGradient) == Bytes(0));
  CHECK(sent(LoopOrder::kBreadthFirst, TensorKind::kAccumulator) == Bytes(gradients));
}

TEST_CASE("gradients on the SSD are written once and read once a step, and lie there in whole blocks") {
  Strategy on_ssd{.name = "made up", .optimizer = Tier::kHost, .gradients = Tier::kSsd};
  const Plan plan = lowered(on_ssd, 1);
  CHECK(moved(plan, "ssd.write", TensorKind::kGradient) == gradient_blocks(plan));
  CHECK(moved(plan, "ssd.read", TensorKind::kGradient) == gradient_blocks(plan));
  CHECK(peak(plan, SpaceKind::kSsd) == gradient_blocks(plan));
  on_ssd.gradients = Tier::kHost;
  CHECK(peak(plan, SpaceKind::kHost) < peak(lowered(on_ssd, 1), SpaceKind::kHost));
}

TEST_CASE("sums of gradients on the SSD pass the host once for each micro-batch in depth-first order, once in breadth-first") {
  // Untied. Depth-first: 3 micro-batches write the sum; 2 read it to add to it, and the update reads it.
  Strategy on_ssd{.name = "made up", .optimizer = Tier::kHost, .gradients = Tier::kSsd};
  const Plan depth = lowered(on_ssd, 3, false);
  on_ssd.loop_order = LoopOrder::kBreadthFirst;
  const Plan breadth = lowered(on_ssd, 3, false);
  for (const char* queue : {"ssd.write", "ssd.read"}) {
    CHECK(moved(depth, queue, TensorKind::kAccumulator) == gradient_blocks(depth) * 3);
    CHECK(moved(breadth, queue, TensorKind::kAccumulator) == gradient_blocks(breadth));
  }
  CHECK(peak(depth, SpaceKind::kSsd) == gradient_blocks(depth));
  CHECK(peak(breadth, SpaceKind::kSsd) == gradient_blocks(breadth));
}

TEST_CASE("a tied head's own sum is charged when there are several micro-batches, and only then") {
  const auto bytes_of_sum = [](const Plan& plan) {
    Bytes sum;
    for (const Buffer& buffer : plan.buffers) sum += buffer.name == "accumulator of the tied head" ? buffer.bytes : Bytes(0);
    return sum;
  };
  for (const LoopOrder order : {LoopOrder::kDepthFirst, LoopOrder::kBreadthFirst}) {
    const Strategy strategy{.name = "resident", .loop_order = order};
    CHECK(bytes_of_sum(lowered(strategy, 2)) == Bytes(256 * 32 * 4));
    CHECK(bytes_of_sum(lowered(strategy, 1)) == Bytes(0));
    CHECK(bytes_of_sum(lowered(strategy, 2, false)) == Bytes(0));
  }
}

TEST_CASE("gradients away from a device that updates the weights itself are refused with the remedy") {
  const auto plan = lower_to_plan(small_model(Family::kGpt2), small_recipe(), tiny_platform(),
                                  {.name = "made up", .gradients = Tier::kHost});
  REQUIRE_FALSE(plan);
  CHECK(plan.error().what.find("gradients") != std::string::npos);
  CHECK(plan.error().remedy.find("optimizer") != std::string::npos);
}
