#pragma once

#include <cuda_runtime.h>

namespace plimsoll::cuda {

/// Throws EnvironmentError with what the runtime says of a call that failed.
void check(cudaError_t status, const char* call);

}  // namespace plimsoll::cuda

#define CUDA_TRY(call) ::plimsoll::cuda::check(call, #call)
