#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "profiler/cupti/cuda_libraries.h"
#include "profiler/microbench/bench_device.h"

namespace plimsoll {

/// The first GPU, by CUDA's runtime and cuBLAS.
class CudaBenchDevice : public BenchDevice {
 public:
  CudaBenchDevice(CudaLibraries cuda, std::string name);
  ~CudaBenchDevice() override;

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] bool knows(DType dtype) const override;
  void prepare(const ProductShape& shape) override;
  double multiply(std::int64_t count) override;
  double copy(CopyDirection direction, Bytes bytes, bool other_busy, std::int64_t count) override;

 private:
  /// Memory of the device or of the host, pinned, that grows when more is asked for.
  struct Memory {
    void* address = nullptr;
    std::size_t bytes = 0;
  };

  void attempt(cudaError_t result, const char* what) const;
  void* device(Memory& memory, std::size_t bytes);
  void* pinned(Memory& memory, std::size_t bytes);
  void fill_normal(void* target, std::size_t elements, DType dtype);
  void copy_once(CopyDirection direction, std::size_t bytes, cudaStream_t stream, std::size_t slot);
  double between_marks();

  CudaLibraries cuda_;
  std::string name_;
  int architecture_ = 0;  ///< 75, 80, …
  ProductShape shape_;
  Memory a_, b_, c_;
  Memory device_copy_[2], host_copy_[2];  ///< of the measured direction and of the other
  cudaStream_t stream_ = nullptr;
  cudaStream_t other_stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  cublasHandle_t blas_ = nullptr;
};

}  // namespace plimsoll
