#include "sim/planner/check_shares.h"

#include <catch2/catch.hpp>

#include "core/plan/expand.h"
#include "core/plan/verify_plan.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

/// What is said of a strategy for the small model's four blocks; empty when it can be planned.
std::string refusal(const Strategy& strategy, const Platform& platform = tiny_platform()) {
  const auto plan = lower_to_plan(small_model(Family::kGpt2), small_recipe(), platform, strategy);
  return plan ? std::string() : plan.error().text();
}

Strategy on_ssd(std::int64_t host_blocks) {
  return {.name = "s", .optimizer = Tier::kSsd, .gradients = Tier::kHost, .host_state_blocks = host_blocks};
}

Bytes moved(const Plan& plan, InstructionKind kind) {
  const FlatBody body = expand(plan, *plan.body("step"));
  Bytes bytes;
  for (const Instruction& instruction : body.list.instructions) {
    if (instruction.kind == kind) bytes += body.uses(instruction)[0].bytes;
  }
  return bytes;
}

}  // namespace

TEST_CASE("more blocks than the model has are refused with their number") {
  CHECK_THAT(refusal({.name = "s", .activations = Tier::kHost, .activation_blocks = 5}),
             Catch::Contains("activation_blocks: 5, and the model has 4 blocks"));
  CHECK_THAT(refusal(on_ssd(5)), Catch::Contains("host_state_blocks: 5, and the model has 4 blocks"));
  CHECK(refusal({.name = "s", .activations = Tier::kHost, .activation_blocks = 4}).empty());
  CHECK(refusal(on_ssd(4)).empty());
}

TEST_CASE("a share of a tier that is not asked for, and a tier with no share, are refused with the remedy") {
  CHECK_THAT(refusal({.name = "s", .activation_blocks = 2}),
             Catch::Contains("activation_blocks: 2 while activations stay on the device") &&
                 Catch::Contains("\"host\" or \"ssd\""));
  CHECK_THAT(refusal({.name = "s", .activations = Tier::kSsd}),
             Catch::Contains("activations: \"ssd\" of no block") && Catch::Contains("activation_blocks: 1 to 4"));
  CHECK_THAT(refusal({.name = "s", .optimizer = Tier::kHost, .host_state_blocks = 1}),
             Catch::Contains("host_state_blocks: 1 while no states are on the SSD"));
}

TEST_CASE("activations on the SSD of a machine without an SSD are refused with the remedy") {
  Platform platform = tiny_platform();
  platform.spaces.pop_back();
  platform.links.resize(2);
  CHECK_THAT(refusal({.name = "s", .activations = Tier::kSsd, .activation_blocks = 2}, platform), Catch::Contains("--ssd"));
}

TEST_CASE("states of blocks that stay in host memory take no part in the SSD's traffic, and theirs is the host's room") {
  const auto lowered = [](std::int64_t blocks) {
    return lower_to_plan(small_model(Family::kGpt2), small_recipe(), tiny_platform(), on_ssd(blocks)).value();
  };
  const Plan all = lowered(0);
  const Plan two = lowered(2);
  CHECK(verify_plan(two));
  // A block's 8544 parameters: qkv 32·96 + 96, projection 32·32 + 32, ffn 32·64 + 64 and 64·32 + 32, norms 4·32.
  // Master weights and two moments of 34176 bytes, on the SSD 36864 (9 · 4096), for each of two blocks.
  CHECK(moved(all, InstructionKind::kRead) - moved(two, InstructionKind::kRead) == Bytes(2 * 3 * 36864));
  CHECK(moved(all, InstructionKind::kWrite) - moved(two, InstructionKind::kWrite) == Bytes(2 * 3 * 36864));
  const SpaceId host = space_named(two.platform, "host");
  const SpaceId ssd = space_named(two.platform, "ssd");
  CHECK(all.arena_bytes(ssd) - two.arena_bytes(ssd) == Bytes(2 * 3 * 36864));
  Bytes lasting;
  for (const Buffer& buffer : two.buffers) lasting += buffer.space == host && buffer.persistent ? buffer.bytes : Bytes(0);
  CHECK(lasting == Bytes(2 * 3 * 34176));
}

TEST_CASE("states of embedding and head stay on the SSD however many blocks' states do not") {
  CHECK(state_tier(on_ssd(4), 3) == Tier::kHost);
  CHECK(state_tier(on_ssd(3), 3) == Tier::kSsd);
  CHECK(state_tier(on_ssd(4), -1) == Tier::kSsd);
}
