#include "sim/planner/chains/replay_chain.h"

#include <catch2/catch.hpp>

#include "sim/planner/chains/chain_bound.h"
#include "tests/sim/planner/chains/random_chain.h"

namespace plimsoll::test {
namespace {

using enum ChainWork;

ChainOp entry(ChainWork work, int block, std::uint32_t option = 0) { return {work, ChainBlockId(block), option}; }

std::string refusal(const BlockChain& chain, const ChainSchedule& schedule) {
  const auto replay = replay_chain(chain, schedule);
  return replay ? "runs" : replay.error().text();
}

}  // namespace

TEST_CASE("a replay counts time and memory as by hand") {
  // Inputs a = 1, b = 2, output 3; saved 10 and 20; temporaries: passing 4, forward 5, backward 6 (block 0), 7 and 8
  // (block 1).
  BlockChain chain{.output = Bytes(3), .blocks = {}};
  chain.blocks.push_back({Bytes(1), 1.0, Bytes(4), {{2.0, 3.0, Bytes(10), Bytes(5), Bytes(6)}}});
  chain.blocks.push_back({Bytes(2), 1.5, Bytes(0), {{4.0, 5.0, Bytes(20), Bytes(7), Bytes(8)}}});
  //   save 0: 10 + 2 + 5 = 17; save 1, backward 1: 10 held, 2 + 20 + 8 = 40; backward 0: 10 + 1 + 6 = 17.
  const auto kept = replay_chain(chain, {entry(kSave, 0), entry(kSave, 1), entry(kBackward, 1), entry(kBackward, 0)});
  REQUIRE(kept);
  CHECK(kept->peak == Bytes(40));
  CHECK(kept->fullest == 1);
  CHECK(kept->seconds == 14);
  //   checkpoint 0: gradient 3 + output 2 + 4 = 9; save 1: input 2 held, 2 + 20 + 8 = 32; save 0, backward 0: 1 + 10 +
  //   6 = 17.
  const auto again = replay_chain(
      chain, {entry(kCheckpoint, 0), entry(kSave, 1), entry(kBackward, 1), entry(kSave, 0), entry(kBackward, 0)});
  REQUIRE(again);
  CHECK(again->peak == Bytes(32));
  CHECK(again->seconds == 15);
}

TEST_CASE("a replay refuses what cannot run, with the entry") {
  const BlockChain chain = equal_chain(3, Bytes(1), Bytes(2));
  using Catch::Contains;
  CHECK_THAT(refusal(chain, {entry(kSave, 1)}), Contains("entry 0, save 1 by option 0: its input is not there"));
  CHECK_THAT(refusal(chain, {entry(kSave, 0, 1)}), Contains("no such option"));
  CHECK_THAT(refusal(chain, {entry(kSave, 7)}), Contains("no such block"));
  CHECK_THAT(refusal(chain, {entry(kSave, 0), entry(kSave, 0)}), Contains("saved already"));
  CHECK_THAT(refusal(chain, {entry(kSave, 0), entry(kBackward, 0)}), Contains("gradient waits at block 3"));
  CHECK_THAT(refusal(chain, {entry(kCheckpoint, 0), entry(kPass, 1), entry(kSave, 1)}), Contains("input is not there"));
  CHECK_THAT(refusal(chain, {entry(kCheckpoint, 0), entry(kPass, 1), entry(kPass, 2)}), Contains("nothing reads"));
  CHECK_THAT(refusal(chain, {entry(kBackward, 0)}), Contains("not saved"));
  CHECK_THAT(refusal(chain, {entry(kSave, 0), entry(kSave, 1), entry(kSave, 2), entry(kBackward, 2)}),
             Contains("block 1 never goes backward"));
}

TEST_CASE("the bound counts the cheapest share of blocks to run again") {
  // Two blocks before the loss: the first saves 10 bytes and takes 4 s to run again, the second 10 bytes and 1 s. The
  // loss takes 1.
  BlockChain chain{.output = Bytes(0), .blocks = {}};
  chain.blocks.push_back({Bytes(0), 4.0, Bytes(0), {{4.0, 4.0, Bytes(10), Bytes(0), Bytes(0)}}});
  chain.blocks.push_back({Bytes(0), 1.0, Bytes(0), {{1.0, 1.0, Bytes(10), Bytes(0), Bytes(0)}}});
  chain.blocks.push_back({Bytes(0), 0.0, Bytes(0), {{0.5, 0.5, Bytes(1), Bytes(0), Bytes(0)}}});
  CHECK(chain_bound(chain, Bytes(21)) == 11.0);  // 8 + 2 + 1
  CHECK(chain_bound(chain, Bytes(16)) == 11.5);  // half of the second block
  CHECK(chain_bound(chain, Bytes(11)) == 12.0);
  CHECK(chain_bound(chain, Bytes(1)) == 16.0);
  CHECK_FALSE(chain_bound(chain, Bytes(0)));
}

}  // namespace plimsoll::test
