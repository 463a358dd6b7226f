#pragma once

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "core/base/error.h"

namespace plimsoll::cuda {

/// Throws what the runtime says of a call that failed.
inline void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                          .what = fmt::format("{}: {} ({})", call, cudaGetErrorString(status), cudaGetErrorName(status)),
                          .where = "CUDA",
                          .remedy = {}});
}

}  // namespace plimsoll::cuda

#define CUDA_TRY(call) ::plimsoll::cuda::check(call, #call)
