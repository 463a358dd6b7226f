#pragma once

#include "executor/kernels/matrix_product.h"
#include "executor/kernels/storage.h"

namespace plimsoll::kernels {

/// One product on the calling thread, with `bias` (of `columns` elements, or null) added to every row of C.
template <typename S>
void multiply(const MatrixProduct& library, const Product<S>& product, const S* bias = nullptr) {
  if constexpr (kIsHalf<S>) {
    multiply_half(library, product, bias);
  } else {
    library.multiply(product);
    for (std::int64_t i = 0; bias != nullptr && i < product.rows; ++i) {
      loops<S>().add_to(product.columns, bias, product.c + i * product.c_stride);
    }
  }
}

}  // namespace plimsoll::kernels
