#include "profiler/cupti/cuda_libraries.h"

#include <dlfcn.h>

#include <string>

namespace plimsoll {
namespace {

constexpr int kMajor = CUDART_VERSION / 1000;

void* open(const std::string& name, std::string& missing) {
  for (const std::string& path : {name, "/usr/local/cuda/lib64/" + name}) {
    if (void* const library = ::dlopen(path.c_str(), RTLD_NOW)) return library;
  }
  if (missing.empty()) missing = name;
  return nullptr;
}

template <typename Function>
void load(void* library, Function& function, const char* name, std::string& missing) {
  function = library == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr && missing.empty()) missing = name;
}

}  // namespace

Result<CudaLibraries> load_cuda_libraries() {
  CudaLibraries cuda;
  std::string missing;
  void* const runtime = open("libcudart.so." + std::to_string(kMajor), missing);
  void* const blas = open("libcublas.so." + std::to_string(kMajor), missing);
  load(runtime, cuda.get_device_count, "cudaGetDeviceCount", missing);
  load(runtime, cuda.get_error_string, "cudaGetErrorString", missing);
  load(runtime, cuda.get_attribute, "cudaDeviceGetAttribute", missing);
  load(runtime, cuda.malloc, "cudaMalloc", missing);
  load(runtime, cuda.free, "cudaFree", missing);
  load(runtime, cuda.malloc_host, "cudaMallocHost", missing);
  load(runtime, cuda.free_host, "cudaFreeHost", missing);
  load(runtime, cuda.memcpy, "cudaMemcpy", missing);
  load(runtime, cuda.memcpy_async, "cudaMemcpyAsync", missing);
  load(runtime, cuda.stream_create, "cudaStreamCreateWithFlags", missing);
  load(runtime, cuda.stream_destroy, "cudaStreamDestroy", missing);
  load(runtime, cuda.stream_synchronize, "cudaStreamSynchronize", missing);
  load(runtime, cuda.stream_wait_event, "cudaStreamWaitEvent", missing);
  load(runtime, cuda.event_query, "cudaEventQuery", missing);
  load(runtime, cuda.event_create, "cudaEventCreate", missing);
  load(runtime, cuda.event_destroy, "cudaEventDestroy", missing);
  load(runtime, cuda.event_record, "cudaEventRecord", missing);
  load(runtime, cuda.event_synchronize, "cudaEventSynchronize", missing);
  load(runtime, cuda.event_elapsed, "cudaEventElapsedTime", missing);
  load(blas, cuda.blas_create, "cublasCreate_v2", missing);
  load(blas, cuda.blas_destroy, "cublasDestroy_v2", missing);
  load(blas, cuda.blas_set_stream, "cublasSetStream_v2", missing);
  load(blas, cuda.blas_multiply, "cublasGemmEx", missing);
  if (missing.empty()) return cuda;
  return fail({.kind = ErrorKind::kEnvironment, .what = missing + " cannot be loaded", .where = "CUDA " + std::to_string(kMajor),
               .remedy = "install the CUDA runtime and cuBLAS, or ask plimsoll doctor"});
}

}  // namespace plimsoll
