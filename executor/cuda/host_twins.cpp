#include "executor/cuda/host_twins.h"

#include <algorithm>
#include <array>
#include <vector>

#include "executor/cuda/launch/by_storage.h"
#include "executor/cuda/launch/supports.h"
#include "executor/cuda/launch/update.h"
#include "executor/kernels/worker_pool.h"

// Compiled without fused multiply-adds, as launch_update.cu is: what both compute is IEEE arithmetic in the same order.
namespace plimsoll {
namespace {

using cuda::Index;

constexpr Index kElementsOfTask = Index{1} << 15;

/// What a block of threads adds up: each thread's elements in order, then the threads' sums by halves.
template <typename S>
double squares_of_block(const S* values, Index begin, Index end) {
  std::array<double, cuda::kSquareThreads> sums{};
  for (Index i = begin; i < end; i += cuda::kSquareThreads) {
    const Index count = std::min<Index>(cuda::kSquareThreads, end - i);
    for (Index k = 0; k < count; ++k) {
      const double value = static_cast<double>(cuda::wide(values[i + k]));
      sums[static_cast<std::size_t>(k)] += value * value;
    }
  }
  for (std::size_t half = sums.size() / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

/// Puts the programs' loops on the workers instead of on a stream.
class HostLauncher {
 public:
  explicit HostLauncher(WorkerPool& pool) : pool_(pool) {}

  template <typename Program>
  void run(const typename Program::Args& args) {
    if constexpr (requires { args.apply; }) {
      pool_.run(cuda::parts_of(args.elements, kElementsOfTask), [&](std::int64_t task, std::int64_t) {
        const Index end = std::min(args.elements, (task + 1) * kElementsOfTask);
        for (Index i = task * kElementsOfTask; i < end; ++i) args.apply(i);
      });
    } else {
      pool_.run(Program::blocks(args), [&](std::int64_t block, std::int64_t) {
        const Index size = cuda::squares_of_block(args.elements);
        args.sums[block] = squares_of_block(args.values, block * size, std::min(args.elements, (block + 1) * size));
      });
    }
  }

 private:
  WorkerPool& pool_;
};

}  // namespace

bool launch_as_on_device(const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context) {
  HostLauncher launcher(*context.pool);
  std::vector<double> scratch(static_cast<std::size_t>(cuda::scratch_of(kernel).count) / sizeof(double));
  const cuda::DeviceLaunch launch{kernel, operands, context, reinterpret_cast<std::byte*>(scratch.data())};
  return cuda::by_storage(kernel.dtype, [&](auto type) {
    return cuda::launch_update<typename decltype(type)::Type>(launcher, launch);
  });
}

}  // namespace plimsoll
