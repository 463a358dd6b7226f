#include "sim/parallel/tensor_grid.h"

#include "tests/sim/parallel/training.h"

namespace plimsoll {
namespace {

/// Links of one byte a second and no latency to speak of: seconds are bytes.
Cluster slow_cluster() {
  Cluster cluster = test::gpt_on(8).cluster;
  cluster.gpus = cluster.node_gpus = 64;
  cluster.inside = {.rate = 1, .latency = 0};
  cluster.network.reset();
  return cluster;
}

ParallelLayout standing(TensorLayout layout, std::int64_t ranks, std::int64_t depth = 1) {
  ParallelLayout stands;
  stands.tensor_ranks = ranks;
  stands.tensor_layout = layout;
  stands.tensor_depth = depth;
  stands.micro_batch = stands.global_batch = 16;
  return stands;
}

}  // namespace

TEST_CASE("what a grid waits for is what the papers' formulas say that a device receives") {
  constexpr SharedLinear kLinear{.rows = 6400, .inputs = 320, .outputs = 640};
  for (const ParallelLayout& layout : {standing(TensorLayout::kSquare, 64), standing(TensorLayout::kDeep, 64, 4),
                                       standing(TensorLayout::kCube, 64), standing(TensorLayout::kSquare, 4)}) {
    INFO(describe(layout));
    const LayoutCost formula = layout_cost(kLinear, layout.grid());
    const GridSends sends = grid_sends(kLinear, layout, 2, slow_cluster());
    CHECK(sends.forward == Approx(2 * formula.forward).epsilon(1e-6));
    CHECK(sends.backward == Approx(2 * formula.backward).epsilon(1e-6));
  }
}

TEST_CASE("a device of a grid computes as a line of as many ranks as the grid has on a side, on its share of the rows") {
  // A square of 4 x 4: 4 ranks share the columns, 4 rows of devices the sequences. A cube of 8: 2 share columns, 4 the sequences.
  CHECK(line_of(standing(TensorLayout::kSquare, 16)).tensor_ranks == 4);
  CHECK(line_of(standing(TensorLayout::kSquare, 16)).micro_batch == 4);
  CHECK(line_of(standing(TensorLayout::kCube, 8)).tensor_ranks == 2);
  CHECK(line_of(standing(TensorLayout::kCube, 8)).micro_batch == 4);
  // 8 ranks, 2 squares of 2 x 2.
  CHECK(line_of(standing(TensorLayout::kDeep, 8, 2)).tensor_ranks == 2);
  CHECK(line_of(standing(TensorLayout::kDeep, 8, 2)).micro_batch == 4);
  const ParallelLayout line = standing(TensorLayout::kLine, 8);
  CHECK(line_of(line) == line);
}

TEST_CASE("a square's devices hold a share of all weights and of the activations, which a line's do not") {
  ParallelQuestion question = test::gpt_on(4);
  question.layout = standing(TensorLayout::kLine, 4);
  const ParallelAnswer line = test::answer_of(question);
  question.layout = standing(TensorLayout::kSquare, 4);
  const ParallelAnswer square = test::answer_of(question);
  question.cluster = test::gpt_on(1).cluster;
  question.layout = standing(TensorLayout::kLine, 1);
  const ParallelAnswer one = test::answer_of(question);
  const auto ratio = [](Bytes a, Bytes b) { return static_cast<double>(a.count) / static_cast<double>(b.count); };
  CHECK(ratio(one.ranks[0].memory.optimizer, square.ranks[0].memory.optimizer) == Approx(4).epsilon(0.01));
  CHECK(ratio(line.ranks[0].memory.optimizer, square.ranks[0].memory.optimizer) == Approx(1).epsilon(0.02));
  CHECK(square.ranks[0].memory.activations < line.ranks[0].memory.activations);
  CHECK(square.model_flops == Approx(one.model_flops).epsilon(0.01));
  CHECK(square.ranks[0].seconds.tensor_sends > 0);
}

TEST_CASE("devices that cannot stand in a grid, and batches that a grid does not divide, are named") {
  const auto refusal = [](const ParallelLayout& layout) {
    const auto checked = check_layout(test::gpt_on(8).spec, test::gpt_on(8).recipe, layout, layout.gpus());
    return checked ? "" : checked.error().where;
  };
  CHECK(refusal(standing(TensorLayout::kSquare, 16)).empty());
  CHECK(refusal(standing(TensorLayout::kSquare, 8)) == "--tensor-layout");
  CHECK(refusal(standing(TensorLayout::kDeep, 8, 3)) == "--tensor-layout");
  ParallelLayout few = standing(TensorLayout::kCube, 64);  // 16 rows of devices
  few.micro_batch = few.global_batch = 8;
  CHECK(refusal(few) == "--micro-batch");
  ParallelLayout rows = standing(TensorLayout::kSquare, 16);
  rows.sequence_parallel = true;
  CHECK(refusal(rows) == "--tensor-layout");
}

}  // namespace plimsoll
