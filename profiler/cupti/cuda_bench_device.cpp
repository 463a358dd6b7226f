#include "profiler/cupti/cuda_bench_device.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <utility>

namespace plimsoll {
namespace {

/// Copies of the other direction that are kept waiting, so that it never runs dry.
constexpr int kOtherAhead = 8;
/// Drawn once and repeated: what data does to power is its bits, which so many differ in enough.
constexpr std::size_t kDrawn = std::size_t{1} << 20;

cudaDataType_t type_of(DType dtype) {
  return dtype == DType::kFp16 ? CUDA_R_16F : dtype == DType::kBf16 ? CUDA_R_16BF : CUDA_R_32F;
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

std::uint16_t to_bf16(float value) { return static_cast<std::uint16_t>((bits_of(value) + 0x8000u) >> 16); }

/// For normal numbers of fp16, which draws from N(0, 1) are but for a few next to 0.
std::uint16_t to_fp16(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::int32_t exponent = static_cast<std::int32_t>(bits >> 23 & 0xffu) - 127 + 15;
  if (exponent <= 0) return static_cast<std::uint16_t>(sign);
  return static_cast<std::uint16_t>(sign + (static_cast<std::uint32_t>(exponent) << 10) + (bits >> 13 & 0x3ffu));
}

}  // namespace

CudaBenchDevice::CudaBenchDevice(CudaLibraries cuda, std::string name) : cuda_(cuda), name_(std::move(name)) {
  int major = 0, minor = 0;
  attempt(cuda_.get_attribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "asking for its architecture");
  attempt(cuda_.get_attribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), "asking for its architecture");
  architecture_ = 10 * major + minor;
  attempt(cuda_.stream_create(&stream_, cudaStreamNonBlocking), "making a stream");
  attempt(cuda_.stream_create(&other_stream_, cudaStreamNonBlocking), "making a stream");
  attempt(cuda_.event_create(&begin_), "making an event");
  attempt(cuda_.event_create(&end_), "making an event");
  if (cuda_.blas_create(&blas_) != CUBLAS_STATUS_SUCCESS || cuda_.blas_set_stream(blas_, stream_) != CUBLAS_STATUS_SUCCESS) {
    throw EnvironmentError(
        {.kind = ErrorKind::kEnvironment, .what = "cuBLAS does not start", .where = name_, .remedy = "free device memory"});
  }
}

CudaBenchDevice::~CudaBenchDevice() {
  if (blas_ != nullptr) cuda_.blas_destroy(blas_);
  for (cudaEvent_t event : {begin_, end_}) {
    if (event != nullptr) cuda_.event_destroy(event);
  }
  for (cudaStream_t stream : {stream_, other_stream_}) {
    if (stream != nullptr) cuda_.stream_destroy(stream);
  }
  for (const Memory& memory : {a_, b_, c_, device_copy_[0], device_copy_[1]}) {
    if (memory.address != nullptr) cuda_.free(memory.address);
  }
  for (const Memory& memory : host_copy_) {
    if (memory.address != nullptr) cuda_.free_host(memory.address);
  }
}

void CudaBenchDevice::attempt(cudaError_t result, const char* what) const {
  if (result == cudaSuccess) return;
  throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                          .what = std::string(what) + ": " + cuda_.get_error_string(result),
                          .where = name_,
                          .remedy = result == cudaErrorMemoryAllocation ? "end other programs on the GPU" : ""});
}

bool CudaBenchDevice::knows(DType dtype) const {
  return dtype == DType::kFp32 || dtype == DType::kFp16 || (dtype == DType::kBf16 && architecture_ >= 80);
}

void* CudaBenchDevice::device(Memory& memory, std::size_t bytes) {
  if (memory.bytes >= bytes) return memory.address;
  if (memory.address != nullptr) attempt(cuda_.free(memory.address), "freeing memory");
  memory = {};
  attempt(cuda_.malloc(&memory.address, bytes), "reserving device memory");
  memory.bytes = bytes;
  return memory.address;
}

void* CudaBenchDevice::pinned(Memory& memory, std::size_t bytes) {
  if (memory.bytes >= bytes) return memory.address;
  if (memory.address != nullptr) attempt(cuda_.free_host(memory.address), "freeing memory");
  memory = {};
  attempt(cuda_.malloc_host(&memory.address, bytes), "pinning host memory");
  memory.bytes = bytes;
  std::memset(memory.address, 1, bytes);
  return memory.address;
}

void CudaBenchDevice::fill_normal(void* target, std::size_t elements, DType dtype) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const std::size_t size = static_cast<std::size_t>(size_of(dtype));
  std::vector<std::byte> drawn(std::min(elements, kDrawn) * size);
  for (std::size_t i = 0; i < drawn.size() / size; ++i) {
    const float value = normal(random);
    const std::uint16_t half = dtype == DType::kFp16 ? to_fp16(value) : to_bf16(value);
    std::memcpy(drawn.data() + i * size, size == 4 ? static_cast<const void*>(&value) : &half, size);
  }
  for (std::size_t at = 0; at < elements * size; at += drawn.size()) {
    const std::size_t bytes = std::min(drawn.size(), elements * size - at);
    attempt(cuda_.memcpy(static_cast<std::byte*>(target) + at, drawn.data(), bytes, cudaMemcpyHostToDevice), "copying operands");
  }
}

void CudaBenchDevice::prepare(const ProductShape& shape) {
  shape_ = shape;
  const auto size = static_cast<std::size_t>(size_of(shape.dtype));
  const auto elements = [](std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); };
  fill_normal(device(a_, elements(shape.m, shape.k) * size), elements(shape.m, shape.k), shape.dtype);
  fill_normal(device(b_, elements(shape.k, shape.n) * size), elements(shape.k, shape.n), shape.dtype);
  device(c_, elements(shape.m, shape.n) * size);
}

double CudaBenchDevice::between_marks() {
  attempt(cuda_.event_record(end_, stream_), "recording an event");
  attempt(cuda_.event_synchronize(end_), "waiting for the device");
  float milliseconds = 0;
  attempt(cuda_.event_elapsed(&milliseconds, begin_, end_), "reading the device's clock");
  return 1e-3 * static_cast<double>(milliseconds);
}

double CudaBenchDevice::multiply(std::int64_t count) {
  const float one = 1, zero = 0;
  const cudaDataType_t type = type_of(shape_.dtype);
  const auto [m, n, k] = std::tuple(static_cast<int>(shape_.m), static_cast<int>(shape_.n), static_cast<int>(shape_.k));
  attempt(cuda_.event_record(begin_, stream_), "recording an event");
  for (std::int64_t i = 0; i < count; ++i) {
    // Column-major: the same products as n × m of the transposed operands.
    const cublasStatus_t status =
        cuda_.blas_multiply(blas_, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b_.address, type, n, a_.address, type, k, &zero,
                            c_.address, type, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status == CUBLAS_STATUS_SUCCESS) continue;
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = "cuBLAS refuses a product: status " + std::to_string(status),
                            .where = name_,
                            .remedy = {}});
  }
  return between_marks();
}

void CudaBenchDevice::copy_once(CopyDirection direction, std::size_t bytes, cudaStream_t stream, std::size_t slot) {
  const bool up = direction == CopyDirection::kUp;
  void* const on_device = device_copy_[slot].address;
  void* const on_host = host_copy_[slot].address;
  attempt(cuda_.memcpy_async(up ? on_device : on_host, up ? on_host : on_device, bytes,
                             up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream),
          "copying");
}

double CudaBenchDevice::copy(CopyDirection direction, Bytes bytes, bool other_busy, std::int64_t count) {
  const auto size = static_cast<std::size_t>(bytes.count);
  for (std::size_t slot = 0; slot < 2; ++slot) {
    device(device_copy_[slot], size);
    pinned(host_copy_[slot], size);
  }
  const CopyDirection other = direction == CopyDirection::kUp ? CopyDirection::kDown : CopyDirection::kUp;
  if (other_busy) {
    for (int i = 0; i < kOtherAhead; ++i) copy_once(other, size, other_stream_, 1);
  }
  attempt(cuda_.event_record(begin_, stream_), "recording an event");
  for (std::int64_t i = 0; i < count; ++i) {
    copy_once(direction, size, stream_, 0);
    if (other_busy) copy_once(other, size, other_stream_, 1);
  }
  const double seconds = between_marks();
  if (other_busy) attempt(cuda_.stream_synchronize(other_stream_), "waiting for the other direction");
  return seconds;
}

Result<std::unique_ptr<BenchDevice>> open_bench_device() {
  const auto cuda = load_cuda_libraries();
  if (!cuda) return fail(cuda.error());
  int count = 0;
  const cudaError_t found = cuda->get_device_count(&count);
  if (found != cudaSuccess || count == 0) {
    return fail({.kind = ErrorKind::kEnvironment,
                 .what = found == cudaSuccess ? "no GPU is visible" : cuda->get_error_string(found),
                 .where = "CUDA",
                 .remedy = "ask plimsoll doctor what is missing"});
  }
  try {
    return std::unique_ptr<BenchDevice>(std::make_unique<CudaBenchDevice>(*cuda, "gpu0"));
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace plimsoll
