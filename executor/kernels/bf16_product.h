#pragma once

#include "executor/kernels/matrix_product.h"

namespace plimsoll {

/// Whether this processor multiplies bf16 itself (AVX512_BF16), so that oneDNN need not imitate it.
bool multiplies_bf16();

/// `sums` = A·B with fp32 sums, packed row behind row; by oneDNN on the calling thread. Throws EnvironmentError when it refuses.
void multiply_bf16(const Product<Bf16>& product, float* sums);

}  // namespace plimsoll
