#pragma once

#include <cstddef>
#include <span>

#include "core/plan/plan.h"
#include "executor/cuda/kernels/elementwise.h"
#include "executor/kernels/launch.h"

// How kernels of plans become programs of blocks. A Launcher has
//   run<Program>(args)        the program, all its blocks
//   multiply(ProductArgs<S>)  a matrix product, its bias included
//   multiply_anyway(…)        the same, whatever guards the launch
//   clear(place, bytes)       zeros
//   multiplies_matrices<S>()  whether programs that ask a Block for matrix units run
// each in the order of the calls. The CUDA device's puts them on a stream; tests' runs them at once.
namespace plimsoll::cuda {

/// One kernel of a plan on its operands, in the operand order of OpKind; all addresses are the device's.
struct DeviceLaunch {
  const Kernel& kernel;
  std::span<const OperandView> operands;
  const LaunchContext& context;
  std::byte* scratch = nullptr;  ///< scratch_of(kernel) bytes

  [[nodiscard]] const OpShape& shape() const { return kernel.shape; }
  [[nodiscard]] bool starts(std::size_t index) const { return operands[index].access == Access::kWrite; }
  [[nodiscard]] bool adds(std::size_t index) const { return operands[index].access == Access::kReadWrite; }
  /// Operand `index` as an array of T.
  template <typename T>
  [[nodiscard]] T* at(std::size_t index) const {
    return reinterpret_cast<T*>(operands[index].data);
  }
};

/// Calls `apply` for every pack of rows of `width` elements, of which all `places` are arrays.
template <typename Launcher, typename Apply, typename... Places>
void for_each_pack(Launcher& launcher, Index rows, Index width, const Apply& apply, const Places*... places) {
  launcher.template run<ForEachPack<Apply>>({rows, width, are_packed(width, width, places...), apply});
}

/// Calls `apply(i)` for every i below `elements`.
template <typename Launcher, typename Apply>
void for_each(Launcher& launcher, Index elements, const Apply& apply) {
  launcher.template run<ForEach<Apply>>({elements, apply});
}

}  // namespace plimsoll::cuda
