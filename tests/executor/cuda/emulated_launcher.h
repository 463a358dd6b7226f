#pragma once

#include <cstring>
#include <memory>

#include "executor/cuda/kernels/product.h"
#include "tests/executor/cuda/fibers.h"

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
      fibers_.run(Program::kThreads, [&](int thread) { Program::run(Block{fibers_, thread, index}, *shared, args); });
    }
  }

  template <typename S>
  void multiply(const cuda::ProductArgs<S>& args) {
    run<cuda::TileProduct<S>>(args);
  }

  void clear(std::byte* place, Bytes bytes) { std::memset(place, 0, static_cast<std::size_t>(bytes.count)); }

 private:
  struct Block {
    Fibers& fibers;
    int own;
    cuda::Index of_grid;
    [[nodiscard]] int thread() const { return own; }
    [[nodiscard]] cuda::Index index() const { return of_grid; }
    void sync() const { fibers.sync(); }
  };

  Fibers::Order order_;
  Fibers fibers_;
};

}  // namespace plimsoll::test
