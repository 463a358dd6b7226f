// What papers state as a rule, against cases worked out by hand.
#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "core/plan/expand.h"
#include "sim/planner/lower_to_plan.h"
#include "sim/planner/systems/checkpoint_segments.h"
#include "sim/planner/systems/choose_open.h"
#include "sim/stack/sharing/chunk_layout.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll {
namespace {

using Counts = std::vector<std::int64_t>;

/// Fetches of a cache of `capacity` blocks that evicts what is used farthest in the future (Belady 1966) and starts empty.
std::int64_t farthest_next_use_fetches(const Counts& uses, std::size_t capacity) {
  std::set<std::int64_t> held;
  std::int64_t fetches = 0;
  for (std::size_t now = 0; now < uses.size(); ++now) {
    if (held.count(uses[now]) > 0) continue;
    ++fetches;
    const auto next = [&](std::int64_t block) {
      return std::find(uses.begin() + static_cast<std::ptrdiff_t>(now), uses.end(), block);
    };
    if (held.size() == capacity) {
      held.erase(*std::max_element(held.begin(), held.end(), [&](auto a, auto b) { return next(a) < next(b); }));
    }
    held.insert(uses[now]);
  }
  return fetches;
}

/// A small model whose weights wait in host memory but for those of `stay` blocks.
Plan streamed(std::int64_t layers, std::int64_t stay) {
  const Strategy strategy{.name = "gemini", .parameters = Tier::kHost, .device_parameter_blocks = stay, .optimizer = Tier::kHost,
                          .gradients = Tier::kHost};
  return lower_to_plan(test::small_model(Family::kGpt2, layers), test::small_recipe(1), test::tiny_platform(), strategy).value();
}

/// What a plan's step does with blocks' weights: which block each product reads, in order, and how often each block comes to
/// the device.
struct BlockTraffic {
  Counts uses;
  Counts fetches;
};

BlockTraffic traffic_of(const Plan& plan, std::int64_t layers) {
  const FlatBody flat = expand(plan, *plan.body("step"));
  BlockTraffic traffic{.uses = {}, .fetches = Counts(static_cast<std::size_t>(layers))};
  for (const Instruction& instruction : flat.list.instructions) {
    if (instruction.layer < 0) continue;
    const auto uses = flat.uses(instruction);
    const bool weights = std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      return plan.buffers[use.target].category == TensorKind::kParameter;
    });
    const bool arrives = instruction.kind == InstructionKind::kCopy && weights &&
                         plan.platform.at(plan.buffers[uses.back().target].space).kind == SpaceKind::kDevice;
    if (arrives) ++traffic.fetches[static_cast<std::size_t>(instruction.layer)];
    const bool computes = instruction.kind == InstructionKind::kLaunch && instruction.phase != Phase::kOptimizer && weights;
    if (computes && (traffic.uses.empty() || traffic.uses.back() != instruction.layer)) traffic.uses.push_back(instruction.layer);
  }
  return traffic;
}

/// LoHan's T(A) in seconds for a step of 6 s of forward arithmetic, 12 s of backward and at most 6 s of recomputation, 10 s of
/// drive traffic each way that does not depend on A, and drives that move a tenth of all activations in 1 s. A: in tenths.
double swap_time(std::int64_t tenths) {
  const double amount = static_cast<double>(tenths);
  const double forward = std::max(6.0, amount);                           // arithmetic, writing what is swapped
  const double backward = std::max(12.0 + 6.0 * (1 - amount / 10), 10.0 + amount);  // arithmetic, weights and what is swapped
  return forward + backward;
}

}  // namespace

TEST_CASE("Chen's segments are as long as they are many") {
  CHECK(checkpoint_segment(1) == 1);
  CHECK(checkpoint_segment(16) == 4);   // 4 inputs + 4 blocks = 8; 2 + 8 and 8 + 2 are 10
  CHECK(checkpoint_segment(12) == 3);   // 4 + 3 = 7, and so are 3 + 4: the shorter one
  CHECK(checkpoint_segment(96) == 8);   // 12 + 8 = 20, and no length gives 19; 9 to 12 give 20 as well
}

TEST_CASE("no length of segment keeps less than Chen's") {
  for (std::int64_t blocks = 1; blocks < 200; ++blocks) {
    for (std::int64_t other = 1; other <= blocks; ++other) {
      CHECK(segment_load(blocks, checkpoint_segment(blocks)) <= segment_load(blocks, other));
    }
  }
}

TEST_CASE("a chunk wastes what the next tensor finds too small") {
  const Counts tensors{6, 4, 3, 3};
  CHECK(chunk_waste(tensors, 6) == 2);   // 6 | 4 + 2 | 3 3
  CHECK(chunk_waste(tensors, 8) == 8);   // 6 + 2 | 4 3 + 1 | 3 + 5
  CHECK(chunk_waste(tensors, 10) == 4);  // 6 4 | 3 3 + 4
  CHECK(chunk_waste(tensors, 5) == 5);   // the 6 alone; 4 + 1 | 3 + 2 | 3 + 2
  CHECK(best_chunk(tensors, {.least = 6, .most = 10, .interval = 2}) == 6);
  CHECK(best_chunk(tensors, {.least = 7, .most = 16, .interval = 1}) == 16);  // all in one
}

TEST_CASE("eviction by farthest next use is worked out by hand") {
  // 5 blocks, room for 2: forward fetches all 5; backward finds the last two there and fetches the 3 before them.
  CHECK(farthest_next_use_fetches({0, 1, 2, 3, 4, 3, 2, 1, 0}, 2) == 8);
}

TEST_CASE("a plan with first blocks that stay brings no more blocks a step than eviction by farthest next use would") {
  constexpr std::int64_t kLayers = 6;
  for (std::int64_t stay = 1; stay < kLayers; ++stay) {
    const BlockTraffic traffic = traffic_of(streamed(kLayers, stay), kLayers);
    INFO(stay << " blocks stay");
    // The last block is used forward and backward in a row and may come once or twice.
    const std::int64_t all = std::accumulate(traffic.fetches.begin(), traffic.fetches.end(), std::int64_t{0});
    CHECK(all <= farthest_next_use_fetches(traffic.uses, static_cast<std::size_t>(stay)) + 1);
    for (std::int64_t block = 0; block < kLayers; ++block) {
      const std::int64_t fetches = traffic.fetches[static_cast<std::size_t>(block)];
      CHECK(fetches <= (block < stay ? 1 : 2));  // those that stay come when they were updated
      CHECK(fetches >= 1);
    }
  }
}

TEST_CASE("the amount that LoHan swaps is where T(A) is least") {
  // 0: 6 + max(18, 10) = 24; 4: 6 + max(15.6, 14) = 21.6; 5: 6 + max(15, 15) = 21; 6: 6 + max(14.4, 16) = 22; 8: 8 + 18 = 26
  CHECK(swap_time(0) == Approx(24));
  CHECK(swap_time(4) == Approx(21.6));
  CHECK(swap_time(5) == Approx(21));
  CHECK(swap_time(6) == Approx(22));
  CHECK(swap_time(8) == Approx(26));
  CHECK(least_of_valley(0, 10, [](std::int64_t a, std::int64_t b) { return swap_time(a) < swap_time(b); }) == 5);
}

TEST_CASE("a share grows to the last number that there is room for, however unevenly room shrinks") {
  for (std::int64_t limit = 0; limit <= 20; ++limit) {
    CHECK(largest_with_room(0, 20, [&](std::int64_t n) { return limit - n; }) == limit);
    CHECK(largest_with_room(0, 20, [&](std::int64_t n) { return n <= limit ? 1 : -1; }) == limit);
    CHECK(largest_with_room(0, 20, [&](std::int64_t n) { return limit * limit * limit - n * n * n; }) == limit);
  }
  CHECK(largest_with_room(0, 20, [](std::int64_t) { return -1; }) == 0);
  CHECK(largest_with_room(0, 0, [](std::int64_t) { return 1; }) == 0);
}

TEST_CASE("where room shrinks evenly, a share of a thousand takes five questions") {
  int asked = 0;
  CHECK(largest_with_room(0, 1000, [&](std::int64_t n) { return ++asked, 3 * 617 + 1 - 3 * n; }) == 617);
  CHECK(asked <= 5);
}

}  // namespace plimsoll
