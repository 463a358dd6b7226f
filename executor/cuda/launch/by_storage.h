#pragma once

#include "core/model/dtype.h"
#include "executor/kernels/half_types.h"

namespace plimsoll::cuda {

/// A type as a value.
template <typename S>
struct StoredAs {
  using Type = S;
};

/// Calls `work` with what elements of that type (fp32, tf32, bf16 or fp16) are stored as.
template <typename Work>
bool by_storage(DType type, const Work& work) {
  if (type == DType::kBf16) return work(StoredAs<Bf16>());
  if (type == DType::kFp16) return work(StoredAs<Fp16>());
  return work(StoredAs<float>());
}

}  // namespace plimsoll::cuda
