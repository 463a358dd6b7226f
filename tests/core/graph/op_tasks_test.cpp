#include "core/graph/op_tasks.h"

#include <catch2/catch.hpp>

#include "core/platform/cpu_workers.h"

using namespace plimsoll;

namespace {

double share(OpKind kind, const OpShape& shape, std::int64_t workers) { return busiest_share(kind, shape, workers); }

}  // namespace

TEST_CASE("tiles cover the result and depend on its size only") {
  // 768 columns are two equal tiles of 384; 1000 rows are four of 250, rounded up to 256; a small result is one tile.
  CHECK(tile_size(1000, 768).rows == 256);
  CHECK(tile_size(1000, 768).columns == 384);
  CHECK(tile_size(257, 385).rows == 160);
  CHECK(tile_size(257, 385).columns == 224);
  CHECK(tile_size(9, 1).rows == 32);
}

TEST_CASE("a layer and its two backward products are cut by what they compute") {
  // y is 512 x 1152: 2 · 3 tiles; dx is 512 x 384: 2 · 1; dW is 1152 x 384: 5 · 1.
  const OpShape shape{.rows = 512, .inputs = 384, .outputs = 1152};
  CHECK(tasks_of(OpKind::kLinear, shape) == 6);
  CHECK(tasks_of(OpKind::kLinearBackwardInput, shape) == 2);
  CHECK(tasks_of(OpKind::kLinearBackwardWeight, shape) == 5);
}

TEST_CASE("one tile is one worker's, however many there are") {
  const OpShape shape{.rows = 128, .inputs = 512, .outputs = 256};
  for (const std::int64_t workers : {1, 2, 16}) CHECK(share(OpKind::kLinear, shape, workers) == 1.0);
}

TEST_CASE("equal tiles take as many rounds as the workers need for them") {
  const auto product = [](std::int64_t tiles) { return OpShape{.rows = 256 * tiles, .inputs = 64, .outputs = 384}; };
  CHECK(share(OpKind::kLinear, product(2), 2) == 0.5);
  CHECK(share(OpKind::kLinear, product(3), 2) == Approx(2.0 / 3.0));
  CHECK(share(OpKind::kLinear, product(5), 4) == Approx(2.0 / 5.0));
  CHECK(share(OpKind::kLinear, product(2), 16) == 0.5);
}

TEST_CASE("unequal tiles go to whoever is free") {
  // 257 x 385 in tiles of 160 x 224: 160·224 = 35840, 97·224 = 21728, 160·161 = 25760, 97·161 = 15617, in this order.
  // One worker takes the first and the last, 51457; the other the two between, 47488.
  const OpShape shape{.rows = 257, .inputs = 8, .outputs = 385};
  CHECK(share(OpKind::kLinear, shape, 2) == Approx(51457.0 / (257 * 385)));
}

TEST_CASE("the busiest worker does at least an even share and at most all, and no more when there are more workers") {
  for (const std::int64_t rows : {1, 100, 257, 1000, 4096}) {
    for (const std::int64_t outputs : {1, 385, 1152, 50257}) {
      const OpShape shape{.rows = rows, .inputs = 64, .outputs = outputs};
      double before = 1.0;
      for (const std::int64_t workers : {1, 2, 4, 8, 64}) {
        const double now = share(OpKind::kLinear, shape, workers);
        CHECK(now >= 1.0 / static_cast<double>(workers));
        CHECK(now <= before);
        before = now;
      }
    }
  }
}

TEST_CASE("attention is shared by heads, backward also by nothing finer") {
  // One sequence of 128, 3 heads: forward 3 · 2 tiles of work 2, 2, 2, 1, 1, 1; two workers: 2+2 (+1) and 2+1+1, so 5 of 9.
  const OpShape shape{.rows = 128, .sequence = 128, .heads = 3, .kv_heads = 3, .head_dim = 64};
  CHECK(tasks_of(OpKind::kAttention, shape) == 6);
  CHECK(share(OpKind::kAttention, shape, 2) == Approx(5.0 / 9.0));
  CHECK(tasks_of(OpKind::kAttentionBackward, shape) == 3);
  CHECK(share(OpKind::kAttentionBackward, shape, 2) == Approx(2.0 / 3.0));
}

TEST_CASE("what streams through memory is shared evenly") {
  CHECK(share(OpKind::kAdamW, {.rows = 10}, 4) == 0.25);
  CHECK(tasks_of(OpKind::kNorm, {.rows = 64, .inputs = 64}) == 0);
}

TEST_CASE("a CPU's calibration name states its workers, and other names one") {
  CHECK(cpu_calibration_name("AMD EPYC", 12) == "AMD EPYC, 12 threads");
  CHECK(workers_of("AMD EPYC, 12 threads") == 12);
  for (const char* name : {"RTX 2060", "", "threads", "CPU, many threads", "CPU, 0 threads", "CPU, -3 threads"}) CHECK(workers_of(name) == 1);
}

TEST_CASE("tiles of attention in both directions are alike") {
  // 3 tiles of one head: causal ones see 1, 2 and 3 tiles of keys, so that of two workers one does 3 of 6; others are 2 of 3.
  OpShape shape{.rows = 192, .sequence = 192, .heads = 1, .kv_heads = 1, .head_dim = 8};
  CHECK(share(OpKind::kAttention, shape, 2) == Approx(0.5));
  shape.variant = static_cast<std::uint8_t>(AttentionKind::kFull);
  CHECK(share(OpKind::kAttention, shape, 2) == Approx(2.0 / 3.0));
}
