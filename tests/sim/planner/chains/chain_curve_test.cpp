#include "sim/planner/chains/chain_curve.h"

#include <catch2/catch.hpp>

#include "sim/planner/chains/chain_bound.h"
#include "sim/planner/chains/compare_chain_plans.h"
#include "sim/planner/chains/replay_chain.h"
#include "tests/sim/planner/chains/brute_force_chain.h"
#include "tests/sim/planner/chains/random_chain.h"

namespace plimsoll::test {
namespace {

/// Every step's schedule must replay to its time within its bytes, and not beat the bound.
void check_schedules(const BlockChain& chain, const ChainCurve& curve) {
  for (const CurveStep& step : curve.steps()) {
    const auto replay = replay_chain(chain, curve.schedule(step.bytes));
    INFO(step.bytes.count << " bytes");
    REQUIRE(replay);
    CHECK(replay->peak <= step.bytes);
    CHECK(replay->seconds == Approx(step.seconds).epsilon(1e-12));
    const auto bound = chain_bound(chain, step.bytes);
    REQUIRE(bound);
    CHECK(*bound <= step.seconds * (1 + 1e-12));
  }
}

}  // namespace

TEST_CASE("three blocks are kept or computed again as by hand") {
  // Inputs of 2 bytes, 5 bytes saved a block (2 of them its output), each pass a second. A block that goes forward and
  // backward at once needs 5 + 2 = 7.
  //   All saved: 5 + 5 + 7 = 17 bytes, 6 s. Save 0, checkpoint 1: 5 + 2 + 7 = 14 bytes, 7 s.
  //   Checkpoint 0, checkpoint 1: inputs 1 and 2 and 7 more: 11 bytes, 8 s.
  //   Checkpoint 0, pass 1: input 2 and 7 more, 9 bytes; then from the beginning again for block 1: 9 s.
  const BlockChain chain = equal_chain(3, Bytes(2), Bytes(5));
  const ChainCurve curve(chain);
  std::vector<std::pair<std::int64_t, double>> steps;
  for (const CurveStep& step : curve.steps()) steps.emplace_back(step.bytes.count, step.seconds);
  CHECK(steps == std::vector<std::pair<std::int64_t, double>>{{9, 9}, {11, 8}, {14, 7}, {17, 6}});
  CHECK(curve.exact());
  std::string text;
  for (const ChainOp& op : curve.schedule(Bytes(10))) text += to_text(op) + ", ";
  CHECK(text ==
        "checkpoint 0, pass 1, save 2 by option 0, backward 2, checkpoint 0, save 1 by option 0, backward 1, "
        "save 0 by option 0, backward 0, ");
  check_schedules(chain, curve);
}

TEST_CASE("the curve is what trying every schedule gives, for every budget") {
  std::mt19937 random(7);
  for (int round = 0; round < 120; ++round) {
    const BlockChain chain = random_chain(random, 1 + random() % 5, 8);
    const ChainCurve curve(chain);
    INFO("round " << round);
    REQUIRE(curve.exact());
    CHECK_FALSE(brute_force_chain(chain, curve.steps().front().bytes - Bytes(1)));
    for (const CurveStep& step : curve.steps()) {
      INFO(step.bytes.count << " bytes");
      CHECK(brute_force_chain(chain, step.bytes) == Approx(step.seconds).epsilon(1e-12));
    }
    for (std::size_t i = 1; i < curve.steps().size(); ++i) {
      CHECK(brute_force_chain(chain, curve.steps()[i].bytes - Bytes(1)) ==
            Approx(curve.steps()[i - 1].seconds).epsilon(1e-12));
    }
    check_schedules(chain, curve);
  }
}

TEST_CASE("more memory never takes longer, and the last step runs nothing twice") {
  std::mt19937 random(11);
  const BlockChain chain = random_chain(random, 40, 1000, 3);
  const ChainCurve curve(chain);
  double least = 0;
  for (const ChainBlock& block : chain.blocks) {
    double best = 1e300;
    for (const ChainOption& option : block.options)
      best = std::min(best, option.forward_seconds + option.backward_seconds);
    least += best;
  }
  CHECK(curve.steps().back().seconds == Approx(least).epsilon(1e-12));
  for (std::size_t i = 1; i < curve.steps().size(); ++i) {
    CHECK(curve.steps()[i].bytes > curve.steps()[i - 1].bytes);
    CHECK(curve.steps()[i].seconds < curve.steps()[i - 1].seconds);
  }
  check_schedules(chain, curve);
}

TEST_CASE("a thinned curve stays a promise above and a bound below, with the exact least memory") {
  std::mt19937 random(13);
  for (int round = 0; round < 4; ++round) {
    const BlockChain chain = random_chain(random, 24, 100'000);
    const ChainCurve exact(chain);
    const ChainCurve above(chain, {.most_steps = 24});
    const ChainCurve below(chain, {.most_steps = 24, .way = Thinning::kBelow});
    REQUIRE(exact.exact());
    CHECK_FALSE(above.exact());
    CHECK_FALSE(below.exact());
    CHECK(above.steps().front().bytes == exact.steps().front().bytes);
    CHECK(below.steps().front().bytes == exact.steps().front().bytes);
    for (const CurveStep& step : exact.steps()) {
      CHECK(step_at(above.steps(), step.bytes)->seconds >= step.seconds * (1 - 1e-12));
      CHECK(step_at(below.steps(), step.bytes)->seconds <= step.seconds * (1 + 1e-12));
    }
    check_schedules(chain, above);
  }
}

TEST_CASE("a curve of one budget alone has that budget's least time, whatever it leaves out") {
  std::mt19937 random(19);
  for (int round = 0; round < 4; ++round) {
    const BlockChain chain = random_chain(random, 16, 100'000);
    const ChainCurve exact(chain);
    REQUIRE(exact.exact());
    for (std::size_t i = 0; i < exact.steps().size(); i += 7) {
      const CurveStep& step = exact.steps()[i];
      const ChainCurve alone(chain, {.most_bytes = step.bytes, .most_seconds = step.seconds});
      const CurveStep* found = step_at(alone.steps(), step.bytes);
      REQUIRE(found != nullptr);
      CHECK(found->seconds == Approx(step.seconds).epsilon(1e-12));
    }
  }
}

TEST_CASE("one budget is answered exactly where the table of all budgets was thinned") {
  std::mt19937 random(23);
  for (int round = 0; round < 4; ++round) {
    const BlockChain chain = random_chain(random, 24, 100'000);
    const ChainCurve exact(chain), thinned(chain, {.most_steps = 16});
    REQUIRE(exact.exact());
    REQUIRE_FALSE(thinned.exact());
    bool closer = false;
    for (std::size_t i = 0; i < exact.steps().size(); i += exact.steps().size() / 8 + 1) {
      const CurveStep& step = exact.steps()[i];
      const auto answer = compare_chain_plans(chain, thinned, step.bytes);
      REQUIRE(answer);
      REQUIRE(answer->best);
      CHECK(answer->exact);
      CHECK(answer->best->replay.seconds == Approx(step.seconds).epsilon(1e-9));
      CHECK(*answer->persistent_bound <= answer->best->replay.seconds * (1 + 1e-12));
      closer = closer || answer->best->replay.seconds < step_at(thinned.steps(), step.bytes)->seconds * (1 - 1e-9);
    }
    CHECK(closer);
  }
}

TEST_CASE("the curve does not depend on the number of threads") {
  std::mt19937 random(17);
  const BlockChain chain = random_chain(random, 30, 500);
  const ChainCurve one(chain, {.threads = 1}), three(chain, {.threads = 3});
  REQUIRE(one.steps().size() == three.steps().size());
  for (std::size_t i = 0; i < one.steps().size(); ++i) {
    CHECK(one.steps()[i].bytes == three.steps()[i].bytes);
    CHECK(one.steps()[i].seconds == three.steps()[i].seconds);
    CHECK(one.steps()[i].choice == three.steps()[i].choice);
  }
}

}  // namespace plimsoll::test
