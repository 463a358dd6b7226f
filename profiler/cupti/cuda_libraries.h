#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "core/base/result.h"

namespace plimsoll {

/// The functions of CUDA's runtime and of cuBLAS that benchmarks call; loaded when they run, as CUPTI is.
struct CudaLibraries {
  decltype(&cudaGetDeviceCount) get_device_count = nullptr;
  decltype(&cudaGetErrorString) get_error_string = nullptr;
  decltype(&cudaDeviceGetAttribute) get_attribute = nullptr;
  cudaError_t (*malloc)(void**, std::size_t) = nullptr;
  decltype(&cudaFree) free = nullptr;
  cudaError_t (*malloc_host)(void**, std::size_t) = nullptr;
  decltype(&cudaFreeHost) free_host = nullptr;
  decltype(&cudaMemcpy) memcpy = nullptr;
  decltype(&cudaMemcpyAsync) memcpy_async = nullptr;
  decltype(&cudaStreamCreateWithFlags) stream_create = nullptr;
  decltype(&cudaStreamDestroy) stream_destroy = nullptr;
  decltype(&cudaStreamSynchronize) stream_synchronize = nullptr;
  cudaError_t (*stream_wait_event)(cudaStream_t, cudaEvent_t, unsigned) = nullptr;
  decltype(&cudaEventQuery) event_query = nullptr;
  cudaError_t (*event_create)(cudaEvent_t*) = nullptr;
  decltype(&cudaEventDestroy) event_destroy = nullptr;
  cudaError_t (*event_record)(cudaEvent_t, cudaStream_t) = nullptr;
  decltype(&cudaEventSynchronize) event_synchronize = nullptr;
  cudaError_t (*event_elapsed)(float*, cudaEvent_t, cudaEvent_t) = nullptr;
  decltype(&cublasCreate_v2) blas_create = nullptr;
  decltype(&cublasDestroy_v2) blas_destroy = nullptr;
  decltype(&cublasSetStream_v2) blas_set_stream = nullptr;
  cublasStatus_t (*blas_multiply)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*, const void*,
                                  cudaDataType_t, int, const void*, cudaDataType_t, int, const void*, void*, cudaDataType_t, int,
                                  cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
};

/// Loads libcudart and libcublas of the CUDA that this was compiled for. The error names what is missing.
Result<CudaLibraries> load_cuda_libraries();

}  // namespace plimsoll
