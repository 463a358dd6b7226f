#pragma once

#include <cstring>
#include <memory>

#include "executor/cuda/kernels/product.h"
#include "tests/executor/cuda/played_block.h"

namespace plimsoll::test {

/// Runs programs of blocks on the host, at once.
class EmulatedLauncher {
 public:
  explicit EmulatedLauncher(Fibers::Order order = Fibers::Order::kForward) : order_(order), fibers_(order) {}

  template <typename Program>
  void run(const typename Program::Args& args) {
    const cuda::Index blocks = Program::blocks(args);
    const auto shared = std::make_unique<typename Program::Shared>();
    for (cuda::Index i = 0; i < blocks; ++i) {
      std::memset(static_cast<void*>(shared.get()), 0xff, sizeof(typename Program::Shared));  // NaNs: nothing is handed on
      const cuda::Index index = order_ == Fibers::Order::kForward ? i : blocks - 1 - i;
      fibers_.run(Program::kThreads, [&](int thread) {
        Program::run(PlayedBlock(fibers_, warps_, order_, thread, index), *shared, args);
      });
    }
  }

  template <typename S>
  void multiply(const cuda::ProductArgs<S>& args) {
    run<cuda::TileProduct<S>>(args);
  }

  template <typename S>
  void multiply_anyway(const cuda::ProductArgs<S>& args) {
    multiply(args);
  }

  template <typename S>
  [[nodiscard]] static bool multiplies_matrices() {
    return sizeof(S) == 2;
  }

  void clear(std::byte* place, Bytes bytes) { std::memset(place, 0, static_cast<std::size_t>(bytes.count)); }

 private:
  Fibers::Order order_;
  Fibers fibers_;
  PlayedWarps warps_;
};

}  // namespace plimsoll::test
