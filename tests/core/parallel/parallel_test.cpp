#include <catch2/catch.hpp>

#include "core/parallel/tensor_layout.h"
#include "core/parallel/two_level_gating.h"

using namespace plimsoll;

namespace {

constexpr SharedLinear kLinear{.rows = 6400, .inputs = 320, .outputs = 640};  // X 2048000, W 204800, Y 4096000

DeviceGrid grid(TensorLayout layout, std::int64_t devices, std::int64_t depth = 1) { return {layout, devices, depth}; }

}  // namespace

TEST_CASE("one device receives nothing and holds everything, however it stands") {
  for (const TensorLayout layout : {TensorLayout::kLine, TensorLayout::kSquare, TensorLayout::kDeep, TensorLayout::kCube}) {
    const LayoutCost cost = layout_cost(kLinear, grid(layout, 1));
    CHECK(cost.forward == 0);
    CHECK(cost.backward == 0);
    CHECK(cost.weights == 204800);
    CHECK(cost.activations == 2048000);
  }
}

TEST_CASE("64 devices in 1, 2, 2.5 and 3 dimensions hold and receive what the papers' formulas say") {
  // Line: W / 64, all of X; half a pair: (63 / 64) · Y forward, (63 / 64) · X backward.
  const LayoutCost line = layout_cost(kLinear, grid(TensorLayout::kLine, 64));
  CHECK(line.weights == 3200);
  CHECK(line.activations == 2048000);
  CHECK(line.forward == 63.0 / 64 * 4096000);
  CHECK(line.backward == 63.0 / 64 * 2048000);
  // Square of 8: 7 further blocks of X (32000) and W (3200); twice that backward.
  const LayoutCost square = layout_cost(kLinear, grid(TensorLayout::kSquare, 64));
  CHECK(square.weights == 3200);
  CHECK(square.activations == 32000);
  CHECK(square.forward == 7 * (32000 + 3200));
  CHECK(square.backward == 2 * 7 * (32000 + 3200));
  // 4 squares of 4: blocks of X 32000, of W 12800; backward also 2 · 3 / 4 of dW's block.
  const LayoutCost deep = layout_cost(kLinear, grid(TensorLayout::kDeep, 64, 4));
  CHECK(deep.weights == 12800);
  CHECK(deep.activations == 32000);
  CHECK(deep.forward == 3 * (32000 + 12800));
  CHECK(deep.backward == 2 * 3 * (32000 + 12800) + 1.5 * 12800);
  // Cube of 4: 3 further blocks of X (32000), W (3200) and Y (64000).
  const LayoutCost cube = layout_cost(kLinear, grid(TensorLayout::kCube, 64));
  CHECK(cube.weights == 3200);
  CHECK(cube.activations == 32000);
  CHECK(cube.forward == 3 * (32000 + 3200 + 64000));
  CHECK(cube.backward == 3 * (32000 + 3200 + 64000) + 3 * 3200);
}

TEST_CASE("arithmetic is shared evenly, a depth of one is a square, and a line's volume does not shrink with its devices") {
  for (const std::int64_t devices : {1, 64})
    CHECK(layout_flops(kLinear, grid(TensorLayout::kCube, devices)) == 6.0 * 6400 * 320 * 640 / static_cast<double>(devices));
  const LayoutCost square = layout_cost(kLinear, grid(TensorLayout::kSquare, 16)),
                   deep = layout_cost(kLinear, grid(TensorLayout::kDeep, 16, 1));
  CHECK(square.forward == deep.forward);
  CHECK(square.backward == deep.backward);
  CHECK(layout_cost(kLinear, grid(TensorLayout::kLine, 4096)).forward >
        layout_cost(kLinear, grid(TensorLayout::kLine, 64)).forward);
  for (const TensorLayout layout : {TensorLayout::kSquare, TensorLayout::kCube}) {
    CHECK(layout_cost(kLinear, grid(layout, 4096)).forward < layout_cost(kLinear, grid(layout, 64)).forward);
  }
}

TEST_CASE("devices that are no square, no square times the depth or no cube are refused") {
  CHECK(validate(grid(TensorLayout::kSquare, 49)));
  CHECK(validate(grid(TensorLayout::kDeep, 98, 2)));
  CHECK(validate(grid(TensorLayout::kCube, 343)));
  CHECK_FALSE(validate(grid(TensorLayout::kSquare, 48)));
  CHECK_FALSE(validate(grid(TensorLayout::kDeep, 98, 3)));
  CHECK_FALSE(validate(grid(TensorLayout::kCube, 100)));
  CHECK_FALSE(validate(grid(TensorLayout::kSquare, 49, 2)));
  CHECK_FALSE(validate(grid(TensorLayout::kLine, 0)));
}

TEST_CASE("a token chooses no more groups than there are, and no more experts than a group has") {
  CHECK(validate(TwoLevelGating{.groups = 2, .experts_per_group = 2, .groups_per_token = 2, .experts_per_chosen = 1}));
  CHECK_FALSE(validate(TwoLevelGating{.groups = 2, .experts_per_group = 2, .groups_per_token = 3, .experts_per_chosen = 1}));
  CHECK_FALSE(validate(TwoLevelGating{.groups = 2, .experts_per_group = 2, .groups_per_token = 1, .experts_per_chosen = 3}));
}
