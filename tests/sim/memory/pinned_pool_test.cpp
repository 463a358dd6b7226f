#include "sim/memory/pinned_pool.h"

#include <catch2/catch.hpp>

#include "sim/memory/waiting_experts.h"

using namespace plimsoll;

TEST_CASE(
    "locked host memory comes in powers of two, and a block that was given back serves the next request of its size") {
  PinnedPool pool;
  pool.take(Bytes(5 << 20));
  CHECK(pool.locked() == 8 * kMiB);
  pool.give_back(Bytes(5 << 20));
  CHECK(pool.locked() == 8 * kMiB);  // it stays locked
  pool.take(Bytes(7 << 20));
  CHECK(pool.locked() == 8 * kMiB);
  pool.take(Bytes(7 << 20));
  CHECK(pool.locked() == 16 * kMiB);
  pool.give_back(Bytes(7 << 20));
  pool.take(Bytes(3 << 20));  // another size: another block
  CHECK(pool.locked() == 20 * kMiB);
  CHECK(PinnedPool::block_of(4 * kMiB) == 4 * kMiB);
}

TEST_CASE("experts that wait in host memory lock four blocks a layer, rows of a drive's file one in all") {
  // 8 experts of 3 x 1024 x 768 weights. Down: 8 x 1024 x 768 = 6 291 456 weights, 3 MiB of codes -> 4 MiB, 384 KiB of
  // scales
  // -> 512 KiB; gate and up twice that: 8 MiB and 1 MiB. Two layers: 2 x 13.5 MiB. A matrix of one expert passes in two
  // bytes: 1.5 MiB -> 2 MiB.
  WaitingExperts waiting{.layers = 2, .experts = 8, .hidden = 1024, .width = 768};
  CHECK(locked_for(waiting) == 29 * kMiB);
  // As two tensors of a layer: 24 MiB -> 32 and 12 -> 16; the first layer's codes find neither free.
  waiting.fused = true;
  CHECK(locked_for(waiting) == 75 * kMiB);
  // A row: 2 359 296 weights, 1 179 648 B of codes and 147 456 B of scales; 8 of them 10 616 832 B -> 16 MiB.
  waiting.rows = 8;
  CHECK(expert_bytes(waiting) == Bytes(1'327'104));
  CHECK(locked_for(waiting) == 16 * kMiB);
}

TEST_CASE("a tensor of the checkpoint leaves its buffer behind, which rows of its size then take") {
  WaitingExperts waiting{.layers = 1, .experts = 8, .hidden = 1024, .width = 768, .rows = 8};
  waiting.dense = {5 * kMiB, 6 * kMiB};
  CHECK(locked_for(waiting) == 24 * kMiB);  // both through one block of 8 MiB, the rows beside it
  waiting.dense = {10 * kMiB};
  CHECK(locked_for(waiting) == 16 * kMiB);  // the rows take the block of 16 MiB that it left
}
