#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "executor/cuda/cuda_launches.h"
#include "executor/cuda/cuda_try.h"
#include "executor/cuda/cufile_io.h"
#include "executor/cuda/device.h"
#include "executor/cuda/growing_memory.h"
#include "executor/cuda/matmul_library.h"

namespace plimsoll {
namespace {

/// One of the runtime's devices. The current device is a thread's own, so every entry sets it.
class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int number) : number_(number) {
    use();
    CUDA_TRY(cudaFree(nullptr));  // makes the context, whose memory is then known to be taken
    CUDA_TRY(cudaGetDeviceProperties(&properties_, number_));
    refuse_old();
    library_ = cuda::MatmulLibrary::open(no_library_);
  }
  ~CudaDevice() override {
    cudaSetDevice(number_);
    cudaDeviceSynchronize();
    library_.reset();
    for (cudaGraphExec_t graph : graphs_) cudaGraphExecDestroy(graph);
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    growing_.clear();
    cufile_.reset();
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  [[nodiscard]] DeviceInfo info() const override {
    use();
    DeviceInfo info{.name = properties_.name, .major = properties_.major, .minor = properties_.minor};
    std::size_t free = 0, total = 0;
    CUDA_TRY(cudaMemGetInfo(&free, &total));
    info.free = Bytes(static_cast<std::int64_t>(free));
    info.total = Bytes(static_cast<std::int64_t>(total));
    int driver = 0, runtime = 0;
    CUDA_TRY(cudaDriverGetVersion(&driver));
    CUDA_TRY(cudaRuntimeGetVersion(&runtime));
    info.software = fmt::format("driver for CUDA {}.{}, runtime {}.{}, products by {}", driver / 1000, driver / 10 % 100,
                                runtime / 1000, runtime / 10 % 100,
                                library_ ? library_->describe() : "tiles of our own (" + no_library_ + ")");
    return info;
  }

  std::byte* reserve(Bytes bytes) override {
    use();
    const auto size = static_cast<std::size_t>(bytes.count);
    if (auto growing = cuda::GrowingMemory::open(number_, properties_.totalGlobalMem, cufile_ != nullptr); growing && growing->resize(size)) {
      const std::scoped_lock lock(mutex_);
      std::byte* const data = growing->data();
      growing_.emplace(data, std::move(growing));
      return data;
    }
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, size);
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();  // it is not sticky, and later calls must not see it
      throw_full(bytes);
    }
    cuda::check(status, "cudaMalloc");
    return static_cast<std::byte*>(memory);
  }

  void release(std::byte* memory) override {
    use();
    if (growing_at(memory) == nullptr) return CUDA_TRY(cudaFree(memory));
    CUDA_TRY(cudaDeviceSynchronize());
    const std::scoped_lock lock(mutex_);
    growing_.erase(memory);
  }

  std::byte* resize(std::byte* memory, Bytes held, Bytes wanted) override {
    use();
    CUDA_TRY(cudaDeviceSynchronize());
    if (cuda::GrowingMemory* growing = growing_at(memory)) {
      if (!growing->resize(static_cast<std::size_t>(wanted.count))) throw_full(wanted - held);
      return memory;
    }
    std::byte* const moved = reserve(wanted);
    CUDA_TRY(cudaMemcpy(moved, memory, static_cast<std::size_t>(std::min(held, wanted).count), cudaMemcpyDeviceToDevice));
    CUDA_TRY(cudaDeviceSynchronize());
    release(memory);
    return moved;
  }

  void pin(std::span<std::byte> memory) override {
    use();
    const cudaError_t status = cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable);
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();  // it is not sticky either
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = fmt::format("{} of host memory cannot be pinned: {}",
                                                to_text(Bytes(static_cast<std::int64_t>(memory.size()))), cudaGetErrorString(status)),
                            .where = "CUDA",
                            .remedy = "plan for less of it with --ram; a container may need --ulimit memlock=-1"});
  }

  void unpin(std::span<std::byte> memory) override {
    use();
    CUDA_TRY(cudaHostUnregister(memory.data()));
  }

  void prepare_direct_storage() override {
    use();
    if (!cufile_) cufile_ = cuda::CuFileLibrary::open();
  }

  /// Memory that grows is registered by whole pieces: a drive's driver pins pages of 64 KiB that are within one allocation.
  std::unique_ptr<BlockIo> open_direct_io(const DriveFile& file, std::span<const std::span<std::byte>> memory) override {
    if (!cufile_) throw std::logic_error("direct storage was not prepared");
    std::vector<std::span<std::byte>> pieces;
    for (const std::span<std::byte> range : memory) {  // sorted, so that a piece that several reach into comes in a row
      for (const std::span<std::byte> piece : allocations_under(range)) {
        if (pieces.empty() || pieces.back().data() != piece.data()) pieces.push_back(piece);
      }
    }
    return std::make_unique<cuda::CuFileIo>(cufile_, file, pieces, [this] { use(); });
  }

  StreamId add_stream() override {
    use();
    const std::scoped_lock lock(mutex_);
    CUDA_TRY(cudaStreamCreateWithFlags(&streams_.emplace_back(), cudaStreamNonBlocking));
    return StreamId(streams_.size() - 1);
  }

  DeviceEventId add_event() override {
    use();
    const std::scoped_lock lock(mutex_);
    CUDA_TRY(cudaEventCreateWithFlags(&events_.emplace_back(), cudaEventBlockingSync));
    return DeviceEventId(events_.size() - 1);
  }

  void copy(StreamId stream, std::byte* to, const std::byte* from, Bytes bytes) override {
    use();
    CUDA_TRY(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes.count), cudaMemcpyDefault, at(stream)));
  }

  void fill(StreamId stream, std::byte* memory, std::byte value, Bytes bytes) override {
    use();
    CUDA_TRY(cudaMemsetAsync(memory, static_cast<int>(value), static_cast<std::size_t>(bytes.count), at(stream)));
  }

  void launch(StreamId stream, const cuda::DeviceLaunch& launch, const std::byte* flag) override {
    use();
    const cuda::LaunchPlace place{at(stream), reinterpret_cast<const unsigned long long*>(flag), library_.get(),
                                  10 * properties_.major + properties_.minor};
    for (const auto on_cuda : {cuda::dense_on_cuda, cuda::streaming_on_cuda, cuda::attention_on_cuda, cuda::loss_on_cuda,
                               cuda::update_on_cuda, cuda::muon_on_cuda}) {
      if (on_cuda(place, launch)) return;
    }
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = fmt::format("the CUDA backend has no kernel '{}'", to_text(launch.kernel.kind))});
  }

  /// Other threads may call the runtime meanwhile, so the capture is this thread's alone.
  DeviceGraphId capture(StreamId stream, const std::function<void()>& work) override {
    use();
    cudaGraph_t recorded = nullptr;
    CUDA_TRY(cudaStreamBeginCapture(at(stream), cudaStreamCaptureModeThreadLocal));
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(at(stream), &recorded);
      if (recorded != nullptr) cudaGraphDestroy(recorded);
      throw;
    }
    CUDA_TRY(cudaStreamEndCapture(at(stream), &recorded));
    cudaGraphExec_t graph = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&graph, recorded, 0);
    cudaGraphDestroy(recorded);
    cuda::check(status, "cudaGraphInstantiate");
    CUDA_TRY(cudaGraphUpload(graph, at(stream)));  // its memory is taken now, not in a step
    const std::scoped_lock lock(mutex_);
    graphs_.push_back(graph);
    return DeviceGraphId(graphs_.size() - 1);
  }

  void run(StreamId stream, DeviceGraphId graph) override {
    use();
    CUDA_TRY(cudaGraphLaunch(at(graph), at(stream)));
  }

  void record(StreamId stream, DeviceEventId event) override {
    use();
    CUDA_TRY(cudaEventRecord(at(event), at(stream)));
  }

  void wait(StreamId stream, DeviceEventId event) override {
    use();
    CUDA_TRY(cudaStreamWaitEvent(at(stream), at(event), 0));
  }

  /// What is nearly there is waited for awake, as clocks are compared by it; then the thread sleeps. Lanes for which the runtime
  /// would spin, of which drives alone have many, would take the host's kernels their cores.
  void synchronize(DeviceEventId event) override {
    use();
    const cudaEvent_t awaited = at(event);
    const auto until = std::chrono::steady_clock::now() + kAwake;
    do {
      const cudaError_t status = cudaEventQuery(awaited);
      if (status == cudaSuccess) return;
      if (status != cudaErrorNotReady) cuda::check(status, "cudaEventQuery");
      (void)cudaGetLastError();  // the runtime counts it as an error, which the next launch would be told of
    } while (std::chrono::steady_clock::now() < until);
    CUDA_TRY(cudaEventSynchronize(awaited));
  }

  void synchronize() override {
    use();
    CUDA_TRY(cudaDeviceSynchronize());
  }

  [[nodiscard]] void* native_stream(StreamId stream) const override {
    use();
    return at(stream);
  }

  [[nodiscard]] Nanoseconds between(DeviceEventId from, DeviceEventId to) const override {
    use();
    float milliseconds = 0;
    CUDA_TRY(cudaEventElapsedTime(&milliseconds, at(from), at(to)));
    return Nanoseconds(static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6));
  }

 private:
  static constexpr std::chrono::microseconds kAwake{100};
  static constexpr int kOldest = 75;  ///< of PLIMSOLL_CUDA_ARCHITECTURES

  void use() const { CUDA_TRY(cudaSetDevice(number_)); }

  [[nodiscard]] cudaStream_t at(StreamId stream) const {
    const std::scoped_lock lock(mutex_);
    return streams_[stream.index];
  }
  [[nodiscard]] cudaEvent_t at(DeviceEventId event) const {
    const std::scoped_lock lock(mutex_);
    return events_[event.index];
  }

  /// What grows where it is; null for memory of the runtime's.
  [[nodiscard]] cuda::GrowingMemory* growing_at(std::byte* memory) const {
    const std::scoped_lock lock(mutex_);
    const auto found = growing_.find(memory);
    return found == growing_.end() ? nullptr : found->second.get();
  }

  /// The allocations that a range of reserved memory reaches into; the range itself where the runtime made it.
  [[nodiscard]] std::vector<std::span<std::byte>> allocations_under(std::span<std::byte> range) const {
    const std::scoped_lock lock(mutex_);
    const auto after = growing_.upper_bound(range.data());
    if (after == growing_.begin()) return {range};
    const std::vector<std::span<std::byte>> pieces = std::prev(after)->second->pieces_under(range);
    return pieces.empty() ? std::vector{range} : pieces;
  }

  [[nodiscard]] cudaGraphExec_t at(DeviceGraphId graph) const {
    const std::scoped_lock lock(mutex_);
    return graphs_[graph.index];
  }

  /// Else the first kernel would say that there is no image of it.
  void refuse_old() const {
    if (10 * properties_.major + properties_.minor >= kOldest) return;
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = fmt::format("{} is of compute capability {}.{}, and the CUDA backend has code for {}.{} and newer",
                                                properties_.name, properties_.major, properties_.minor, kOldest / 10, kOldest % 10),
                            .where = fmt::format("gpu{}", number_),
                            .remedy = "run with --backend cpu, or on a Turing board or a newer one"});
  }

  [[noreturn]] void throw_full(Bytes wanted) const {
    std::size_t free = 0, total = 0;
    CUDA_TRY(cudaMemGetInfo(&free, &total));
    const Bytes available(static_cast<std::int64_t>(free));
    const Bytes missing = wanted > available ? wanted - available : Bytes(0);
    throw DeviceFull({.kind = ErrorKind::kEnvironment,
                      .what = fmt::format("{} has no room for {}: {} are free, in one piece or in several", properties_.name,
                                          to_text(wanted), to_text(available)),
                      .where = fmt::format("gpu{}", number_),
                      .remedy = "close other programs that use it, or plan for less with --device-memory"},
                     missing);
  }

  int number_;
  cudaDeviceProp properties_{};
  std::map<std::byte*, std::unique_ptr<cuda::GrowingMemory>> growing_;
  std::shared_ptr<const cuda::CuFileLibrary> cufile_;  ///< once direct storage was prepared
  std::string no_library_;
  std::unique_ptr<cuda::MatmulLibrary> library_;
  mutable std::mutex mutex_;
  std::deque<cudaStream_t> streams_;
  std::deque<cudaEvent_t> events_;
  std::deque<cudaGraphExec_t> graphs_;
};

}  // namespace

std::string cuda_build() {
  return fmt::format("built with CUDA {}.{}", CUDART_VERSION / 1000, CUDART_VERSION / 10 % 100);
}

Result<std::shared_ptr<Device>> open_cuda_device(std::uint32_t number) {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    (void)cudaGetLastError();
    return fail({.kind = ErrorKind::kEnvironment,
                 .what = status == cudaErrorInsufficientDriver
                             ? std::string("no NVIDIA driver here, or one older than this build's CUDA")
                             : fmt::format("no CUDA device: {}", cudaGetErrorString(status)),
                 .where = "--backend cuda",
                 .remedy = "install the driver (nvidia-smi must list the GPU), or run with --backend cpu"});
  }
  if (number >= static_cast<std::uint32_t>(devices)) {
    return fail({.kind = ErrorKind::kEnvironment,
                 .what = fmt::format("this process is to use GPU {}, counted from 0, and {} are here", number, devices),
                 .where = "--backend cuda",
                 .remedy = "start as many processes on a computer as it has GPUs, and leave CUDA_VISIBLE_DEVICES open for all"});
  }
  try {
    return std::shared_ptr<Device>(std::make_shared<CudaDevice>(static_cast<int>(number)));
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace plimsoll
