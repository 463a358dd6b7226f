#include "sim/planner/chains/chain_baselines.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/planner/chains/chain_curve.h"
#include "sim/planner/chains/compare_chain_plans.h"
#include "sim/planner/chains/replay_chain.h"
#include "tests/sim/planner/chains/random_chain.h"

namespace plimsoll::test {
namespace {

/// Forwards of a schedule that save nothing.
std::size_t extra_forwards(const ChainSchedule& schedule) {
  return static_cast<std::size_t>(std::count_if(schedule.begin(), schedule.end(), [](const ChainOp& op) {
    return op.work == ChainWork::kPass || op.work == ChainWork::kCheckpoint;
  }));
}

}  // namespace

TEST_CASE("revolve runs as few forwards as its closed form says") {
  // r n − C(m + r, m + 1) for n blocks and m inputs, r the smallest with C(m + r, m) ≥ n.
  //   m = 3, n = 11: C(5, 3) = 10 < 11 ≤ C(6, 3) = 20, r = 3: 33 − C(6, 4) = 18.  m = 4, n = 21: r = 3: 63 − C(7, 5)
  //   = 42.
  const auto forwards = [](std::size_t blocks, std::size_t slots) {
    const BlockChain chain = equal_chain(blocks, Bytes(1), Bytes(1));
    return extra_forwards(Revolve(chain, slots).schedule(slots));
  };
  CHECK(forwards(11, 3) == 18);
  CHECK(forwards(21, 4) == 42);
  CHECK(forwards(10, 1) == 45);  // 9 + 8 + … + 1
  CHECK(forwards(10, 10) == 9);
  CHECK(forwards(1, 3) == 0);
}

TEST_CASE("square-root segments keep about two square roots of a chain and pass all but the last segment twice") {
  // 100 equal blocks of a byte: 9 inputs kept (the first is the chain's own), then 10 blocks saved and the last one's
  // gradient.
  const BlockChain chain = equal_chain(100, Bytes(1), Bytes(1));
  const ChainSchedule schedule = square_root_segments(chain);
  CHECK(extra_forwards(schedule) == 90);
  const auto replay = replay_chain(chain, schedule);
  REQUIRE(replay);
  CHECK(replay->peak == Bytes(9 + 10 + 1));
  CHECK(replay->seconds == 290);
}

TEST_CASE("no older rule beats the curve within its own memory") {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    const BlockChain chain = random_chain(random, 1 + random() % 20, 50, 3);
    const ChainCurve curve(chain);
    std::vector<ChainSchedule> others{keep_everything(chain), square_root_segments(chain)};
    const Revolve table(chain, 20);
    for (std::size_t slots = 1; slots <= table.most_slots(); ++slots) others.push_back(table.schedule(slots));
    for (const ChainSchedule& other : others) {
      const auto replay = replay_chain(chain, other);
      REQUIRE(replay);
      const CurveStep* step = step_at(curve.steps(), replay->peak);
      REQUIRE(step != nullptr);
      CHECK(step->seconds <= replay->seconds * (1 + 1e-12));
    }
  }
}

TEST_CASE("revolve is what the curve gives for equal blocks that save no more than their output") {
  const BlockChain chain = equal_chain(30, Bytes(1), Bytes(1));
  const ChainCurve curve(chain);
  for (std::size_t slots = 1; slots <= 30; ++slots) {
    const auto replay = replay_chain(chain, Revolve(chain, slots).schedule(slots));
    REQUIRE(replay);
    CHECK(step_at(curve.steps(), replay->peak)->seconds <= replay->seconds);
  }
  const auto answer = compare_chain_plans(chain, ChainCurve(chain), Bytes(8));
  REQUIRE(answer);
  REQUIRE(answer->best);
  CHECK(answer->baselines.size() == 3);
  CHECK_FALSE(answer->baselines[0].fits);
  CHECK(answer->baselines[2].fits);
  CHECK(answer->best->replay.seconds <= answer->baselines[2].replay.seconds);
  CHECK(answer->persistent_bound == answer->best->replay.seconds);
}

}  // namespace plimsoll::test
