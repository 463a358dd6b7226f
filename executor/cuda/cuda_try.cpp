#include "executor/cuda/cuda_try.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace plimsoll::cuda {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                          .what = fmt::format("{}: {} ({})", call, cudaGetErrorString(status), cudaGetErrorName(status)),
                          .where = "CUDA",
                          .remedy = {}});
}

}  // namespace plimsoll::cuda
