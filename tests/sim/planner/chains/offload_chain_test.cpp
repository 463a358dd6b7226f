#include "sim/planner/chains/offload_chain.h"

#include <catch2/catch.hpp>

#include <functional>
#include <limits>

#include "tests/sim/planner/chains/random_chain.h"

namespace plimsoll::test {
namespace {

/// The least time of all sequences of stretches, with all quarters that can be sent and all whole bytes that can come ahead.
double brute_force(const BlockChain& chain, const ChainCurve& curve, const ChainLink& link, Bytes budget) {
  double best = std::numeric_limits<double>::infinity();
  std::vector<OffloadStretch> stretches;
  const std::function<void(std::size_t, Bytes)> go_on = [&](std::size_t block, Bytes sent) {
    if (block == chain.blocks.size()) {
      const auto replay = replay_offload(chain, curve, link, budget, stretches);
      if (replay) best = std::min(best, replay->seconds);
      return;
    }
    const auto with = [&](OffloadStretch stretch) {
      for (std::int64_t ahead = 0; ahead <= sent.count; ++ahead) {
        stretch.ahead = Bytes(ahead);
        stretches.push_back(stretch);
        go_on(stretch.last + 1, sent + stretch.sent);
        stretches.pop_back();
      }
    };
    const bool leaf = block + 1 == chain.blocks.size();
    for (std::uint32_t k = 0; k < chain.blocks[block].options.size(); ++k) {
      const Bytes most = chain.blocks[block].options[k].saved - chain.boundary(block + 1);
      for (std::int64_t part = 0; part <= (leaf ? 0 : 4); ++part) {
        with({.first = block, .last = block, .option = k, .sent = Bytes(most.count * part / 4)});
      }
    }
    for (std::size_t last = block; last + 1 < chain.blocks.size(); ++last) with({.first = block, .last = last, .saves = false});
  };
  go_on(0, Bytes(0));
  return best;
}

double seconds_of(const std::optional<OffloadPlan>& plan) {
  return plan ? plan->replay.seconds : std::numeric_limits<double>::infinity();
}

}  // namespace

TEST_CASE("what a link takes away beside the kernels need not be computed again, as by hand") {
  // Inputs of 2 bytes, 5 saved (2 of them the output), each pass a second; 14 bytes are 7 s without a link (chain_curve_test).
  // Block 0 sends 3 bytes, which at 3 bytes/s leave during block 1's forward: 2 + 5 are held when the last block needs its 7.
  // They come back during block 1's backward, which holds 2 + 3 beside its own 7. Nothing waits: 6 s.
  const BlockChain chain = equal_chain(3, Bytes(2), Bytes(5));
  const ChainCurve curve(chain);
  const auto fast = offload_chain(chain, curve, {3, Bytes(3)}, Bytes(14));
  REQUIRE(fast);
  CHECK(fast->exact);
  CHECK(fast->replay.seconds == Approx(6));
  CHECK(fast->replay.waiting == 0);
  CHECK(fast->replay.host == Bytes(3));
  CHECK(fast->replay.peak == Bytes(14));
  // At 1 byte/s 2 of the 3 bytes would be waited for, at 2 s, which is more than the second of computing again; and a host of
  // 2 bytes takes 2 at the most, when 3 + 5 + 7 = 15 bytes are one too many.
  CHECK(seconds_of(offload_chain(chain, curve, {1, Bytes(3)}, Bytes(14))) == Approx(7));
  CHECK(seconds_of(offload_chain(chain, curve, {3, Bytes(2)}, Bytes(14))) == Approx(7));
  CHECK_FALSE(offload_chain(chain, curve, {3, Bytes(3)}, Bytes(8)));
}

TEST_CASE("without a link, or without room on the host, sending away is the chain's own optimum") {
  std::mt19937 random(23);
  for (int round = 0; round < 60; ++round) {
    const BlockChain chain = random_chain(random, 1 + random() % 8, 12);
    const ChainCurve curve(chain);
    REQUIRE(curve.exact());
    for (const CurveStep& step : curve.steps()) {
      INFO("round " << round << ", " << step.bytes.count << " bytes");
      CHECK(seconds_of(offload_chain(chain, curve, {}, step.bytes)) == Approx(step.seconds).epsilon(1e-12));
      CHECK(seconds_of(offload_chain(chain, curve, {4, Bytes(0)}, step.bytes)) == Approx(step.seconds).epsilon(1e-12));
    }
    CHECK_FALSE(offload_chain(chain, curve, {}, curve.steps().front().bytes - Bytes(1)));
  }
}

TEST_CASE("what is kept, sent and computed again is the best of all ways that there are") {
  std::mt19937 random(29);
  int better = 0;
  for (int round = 0; round < 20; ++round) {
    const BlockChain chain = random_chain(random, 2 + random() % 2, 6);
    const ChainCurve curve(chain);
    const ChainLink link{static_cast<double>(4 << (random() % 2)), Bytes(static_cast<std::int64_t>(random() % 8))};
    for (const CurveStep& step : curve.steps()) {
      INFO("round " << round << ", " << step.bytes.count << " bytes");
      const auto plan = offload_chain(chain, curve, link, step.bytes);
      REQUIRE(plan);
      CHECK(plan->exact);
      CHECK(plan->replay.seconds == Approx(brute_force(chain, curve, link, step.bytes)).epsilon(1e-9));
      CHECK(plan->replay.seconds <= step.seconds * (1 + 1e-12));
      CHECK(plan->replay.peak <= step.bytes);
      better += plan->replay.seconds < step.seconds * (1 - 1e-9) ? 1 : 0;
    }
  }
  CHECK(better > 0);
}

TEST_CASE("a faster link or a larger host never takes longer, and no way beats all passes once") {
  std::mt19937 random(31);
  const BlockChain chain = random_chain(random, 6, 40);
  const ChainCurve curve(chain);
  const Bytes budget = curve.steps()[curve.steps().size() / 3].bytes;
  double least = 0, before = step_at(curve.steps(), budget)->seconds;
  for (const ChainBlock& block : chain.blocks) {
    double fastest = std::numeric_limits<double>::infinity();
    for (const ChainOption& option : block.options) fastest = std::min(fastest, option.forward_seconds + option.backward_seconds);
    least += fastest;
  }
  for (const double rate : {1.0, 4.0, 16.0, 64.0}) {
    const double now = seconds_of(offload_chain(chain, curve, {rate, Bytes(1000)}, budget));
    CHECK(now <= before * (1 + 1e-12));
    CHECK(now >= least * (1 - 1e-12));
    before = now;
  }
}

TEST_CASE("a replay refuses ways that do not fit, skip a block, or bring back what was not sent") {
  const BlockChain chain = equal_chain(3, Bytes(2), Bytes(5));
  const ChainCurve curve(chain);
  const auto refused = [&](std::vector<OffloadStretch> stretches, Bytes budget, const ChainLink& link) {
    return !replay_offload(chain, curve, link, budget, stretches);
  };
  const OffloadStretch first{.first = 0, .last = 0}, second{.first = 1, .last = 1}, leaf{.first = 2, .last = 2};
  const ChainLink link{3, Bytes(3)};
  CHECK_FALSE(refused({first, second, leaf}, Bytes(17), link));
  CHECK(refused({first, second, leaf}, Bytes(16), link));
  CHECK(refused({first, leaf}, Bytes(17), link));
  CHECK(refused({first, second}, Bytes(17), link));
  OffloadStretch sends = first, ahead = second;
  sends.sent = Bytes(4);  // of 5, 2 of them the output
  CHECK(refused({sends, second, leaf}, Bytes(17), link));
  sends.sent = Bytes(3);
  CHECK(refused({sends, second, leaf}, Bytes(17), {3, Bytes(2)}));
  ahead.ahead = Bytes(5);
  CHECK(refused({first, ahead, leaf}, Bytes(30), link));
}

}  // namespace plimsoll::test
