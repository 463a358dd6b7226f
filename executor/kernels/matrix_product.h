#pragma once

#include <cstdint>

#include "core/model/recipe.h"
#include "executor/kernels/half_types.h"

namespace plimsoll {

class WorkerPool;

/// A matrix operand: row-major, `stride` elements from row to row, read as its transpose when `transposed`.
template <typename T>
struct MatrixView {
  const T* data = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;
};

/// C = factor·A·B, or C += factor·A·B when `adds`: A (as read) is rows × depth, B depth × columns, C row-major. All sizes in
/// elements.
template <typename T>
struct Product {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  MatrixView<T> a;
  MatrixView<T> b;
  T* c = nullptr;
  std::int64_t c_stride = 0;
  bool adds = false;
  double factor = 1;
};

/// A matrix-product library, used by one thread at a time per product: equal arguments give equal bits on one machine.
class MatrixProduct {
 public:
  /// Switches the library's own threads off for the process (OpenBLAS) or the calling threads (oneDNN, OpenMP).
  explicit MatrixProduct(MatmulLibrary library);

  /// Multiplies on the calling thread. fp64 products go to OpenBLAS in both cases; oneDNN 2 has none.
  void multiply(const Product<float>& product) const;
  void multiply(const Product<double>& product) const;

  [[nodiscard]] MatmulLibrary library() const { return library_; }

 private:
  MatmulLibrary library_;
};

/// Multiplies over the pool's workers, one task a tile of C (tile_size). `bias` (of `columns` elements) is added to every row of C
/// when not null.
template <typename S>
void tiled_product(WorkerPool& pool, const MatrixProduct& library, const Product<S>& product, const S* bias = nullptr);

/// One product of operands stored in two bytes, on the calling thread: fp32 sums, `bias` (or null) added to every row, each
/// element rounded once.
template <typename S>
void multiply_half(const MatrixProduct& library, const Product<S>& product, const S* bias);

}  // namespace plimsoll
