#pragma once

#include <cstdint>

// Kernels are programs of blocks of threads, written once for the device and for the host. A program is a type with
//   kThreads            threads of a block
//   Args, Shared        what a launch is given, and what the threads of a block share
//   blocks(args)        how many blocks a launch has
//   run(block, shared, args)   what one thread of one block does, for any Block with thread(), index() and sync().
// The CUDA device runs them as kernels; tests run the very same code thread by thread on the host.
#ifdef __CUDACC__
#define PLIMSOLL_DEVICE __device__
#else
#define PLIMSOLL_DEVICE
#endif

namespace plimsoll::cuda {

using Index = std::int64_t;

/// Parts of `step` that cover `total`.
constexpr Index parts_of(Index total, Index step) { return (total + step - 1) / step; }

struct Plus {
  template <typename T>
  PLIMSOLL_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

struct Larger {
  template <typename T>
  PLIMSOLL_DEVICE T operator()(T a, T b) const {
    return b > a ? b : a;
  }
};

/// Joins the values of all threads of a block in a fixed order; every thread gets the result. `shared` has room for one value
/// a thread and is free again afterwards. All threads must come here.
template <int kThreads, typename Block, typename T, typename Join>
PLIMSOLL_DEVICE T reduce(const Block& block, T* shared, T value, Join join) {
  static_assert((kThreads & (kThreads - 1)) == 0);
  const int thread = block.thread();
  shared[thread] = value;
  block.sync();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (thread < half) shared[thread] = join(shared[thread], shared[thread + half]);
    block.sync();
  }
  const T result = shared[0];
  block.sync();
  return result;
}

}  // namespace plimsoll::cuda
