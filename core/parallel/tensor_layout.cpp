#include "core/parallel/tensor_layout.h"

#include <fmt/format.h>

#include <cmath>

namespace plimsoll {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

std::int64_t root(std::int64_t n, double degree) { return std::llround(std::pow(real(n), 1 / degree)); }

/// A ring all-reduce of `numbers` over so many devices.
double ring(double numbers, double devices) { return 2 * (devices - 1) / devices * numbers; }

LayoutCost line_cost(double x, double w, double y, double p) {
  return {.weights = w / p, .activations = x, .forward = ring(y, p) / 2, .backward = ring(x, p) / 2};
}

/// Blocks of X are of all devices, blocks of W of a square. Y = X W moves X and W, dX = dY Wᵀ moves W and reduces dX, dW = Xᵀ dY
/// moves X and reduces dW: dY stays where it is.
LayoutCost square_cost(double x, double w, double side, double depth) {
  const double others = side - 1;
  const double squares = side * side;
  const double xb = x / (squares * depth), wb = w / squares;
  return {.weights = wb,
          .activations = xb,
          .forward = others * (xb + wb),
          .backward = others * (wb + xb) + others * (xb + wb) + ring(wb, depth)};
}

LayoutCost cube_cost(double x, double w, double y, double side) {
  const double others = side - 1;
  const double p = side * side * side;
  const double xb = x / p, wb = w / p, yb = y / p;
  return {
      .weights = wb, .activations = xb, .forward = others * (xb + wb + yb), .backward = others * (yb + wb + xb) + others * wb};
}

}  // namespace

std::int64_t DeviceGrid::side() const {
  switch (layout) {
    case TensorLayout::kLine:
      return devices;
    case TensorLayout::kSquare:
      return root(devices, 2);
    case TensorLayout::kDeep:
      return depth > 0 ? root(devices / depth, 2) : 0;
    case TensorLayout::kCube:
      return root(devices, 3);
  }
  return devices;
}

Result<void> validate(const DeviceGrid& grid) {
  const std::int64_t side = grid.side();
  const bool whole = grid.devices >= 1 && grid.depth >= 1 && side >= 1;
  const bool fits = grid.layout == TensorLayout::kLine     ? true
                    : grid.layout == TensorLayout::kSquare ? side * side == grid.devices
                    : grid.layout == TensorLayout::kDeep   ? side * side * grid.depth == grid.devices
                                                           : side * side * side == grid.devices;
  const bool deep = grid.layout == TensorLayout::kDeep || grid.depth == 1;
  if (whole && fits && deep) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("{} devices (depth {}) cannot stand in {}", grid.devices, grid.depth, to_text(grid.layout)),
               .where = {},
               .remedy = "2D takes a square, 2.5D a square times its depth, 3D a cube"});
}

LayoutCost layout_cost(const SharedLinear& linear, const DeviceGrid& grid) {
  const double x = linear.rows * linear.inputs, w = linear.inputs * linear.outputs, y = linear.rows * linear.outputs;
  const double side = real(grid.side());
  switch (grid.layout) {
    case TensorLayout::kLine:
      return line_cost(x, w, y, side);
    case TensorLayout::kSquare:
      return square_cost(x, w, side, 1);
    case TensorLayout::kDeep:
      return square_cost(x, w, side, real(grid.depth));
    case TensorLayout::kCube:
      return cube_cost(x, w, y, side);
  }
  return {};
}

double layout_flops(const SharedLinear& linear, const DeviceGrid& grid) {
  return 6 * linear.rows * linear.inputs * linear.outputs / real(grid.devices);
}

std::string_view to_text(TensorLayout layout) {
  switch (layout) {
    case TensorLayout::kLine:
      return "1D";
    case TensorLayout::kSquare:
      return "2D";
    case TensorLayout::kDeep:
      return "2.5D";
    case TensorLayout::kCube:
      return "3D";
  }
  return "?";
}

}  // namespace plimsoll
