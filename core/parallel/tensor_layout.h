#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// How the devices stand that share a linear layer Y = X W.
enum class TensorLayout : std::uint8_t {
  kLine,    ///< 1D: W cut by columns, then by rows; X whole on every device (Shoeybi et al. 2019, Megatron-LM)
  kSquare,  ///< 2D: all three cut into q × q blocks, SUMMA (Xu et al. 2021, Optimus)
  kDeep,    ///< 2.5D: d squares of q × q; X and Y cut over all, W over each square (Wang et al. 2021, Tesseract)
  kCube,    ///< 3D: all three cut over l × l × l (Bian et al. 2021, Colossal-AI)
};

/// Devices of a layout: p = line, q², q² · depth, l³.
struct DeviceGrid {
  TensorLayout layout = TensorLayout::kLine;
  std::int64_t devices = 1;
  std::int64_t depth = 1;  ///< of kDeep

  /// q, or l; the devices themselves of a line.
  [[nodiscard]] std::int64_t side() const;
};

/// Fails where the devices are no square, no square times the depth, or no cube.
Result<void> validate(const DeviceGrid& grid);

/// Rows of X, its columns, and columns of Y.
struct SharedLinear {
  double rows = 0;
  double inputs = 0;
  double outputs = 0;
};

/// Numbers of one layer that a device holds, and receives from others in a forward and in a backward pass (both gradients).
struct LayoutCost {
  double weights = 0;
  double activations = 0;  ///< of X, kept for the backward pass
  double forward = 0;
  double backward = 0;
};

/// Per device, in numbers received. Line: a pair of layers (columns, then rows) ends forward with an all-reduce of Y and backward
/// with one of dX, rings that receive 2 (p − 1) / p of the tensor; a layer is charged half of its pair. Square: each of the three
/// products Y = X W, dX = dY Wᵀ, dW = Xᵀ dY takes q − 1 further blocks of both operands that do not stay (SUMMA: two that are
/// broadcast, or one broadcast and the result reduced). Deep: the same within a square, and an all-reduce of dW over the depth.
/// Cube: each product gathers or scatters l − 1 further blocks of all three; dW finds X and dY gathered by the other two.
LayoutCost layout_cost(const SharedLinear& linear, const DeviceGrid& grid);

/// Floating-point operations of a device: the layer's share, forward and backward.
double layout_flops(const SharedLinear& linear, const DeviceGrid& grid);

std::string_view to_text(TensorLayout layout);

}  // namespace plimsoll
