#pragma once

#include "executor/cuda/cuda_launches.h"
#include "executor/cuda/cuda_try.h"
#include "executor/cuda/device_block.h"
#include "executor/cuda/kernels/product.h"
#include "executor/cuda/matmul_library.h"

namespace plimsoll::cuda {

#ifdef __CUDA_ARCH__
inline constexpr int kCompiledFor = __CUDA_ARCH__ / 10;
#else
inline constexpr int kCompiledFor = 0;
#endif

/// Code for devices without the matrix units that a program asks for is empty: it is never launched there.
template <typename Program>
constexpr bool has_code() {
  if constexpr (requires { typename Program::MatrixElement; })
    return has_matrix_units<typename Program::MatrixElement>(kCompiledFor);
  return true;
}

/// Where `flag` points at all zeros, the launch does nothing.
template <typename Program>
__global__ void __launch_bounds__(Program::kThreads) run_program(const __grid_constant__ typename Program::Args args,
                                                                 const unsigned long long* flag) {
  extern __shared__ __align__(16) unsigned char memory[];
  if (flag != nullptr && *flag == 0) return;
  if constexpr (has_code<Program>())
    Program::run(DeviceBlock(), *reinterpret_cast<typename Program::Shared*>(memory), args);
}

/// Puts programs of blocks on a stream.
class CudaLauncher {
 public:
  /// Shared memory up to this size needs no leave.
  static constexpr std::size_t kPlainShared = std::size_t{48} << 10;
  /// Blocks of one launch at most.
  static constexpr Index kMostBlocks = 0x7fffffff;

  CudaLauncher(const LaunchPlace& place, bool tf32) : place_(place), tf32_(tf32) {}

  template <typename Program>
  void run(const typename Program::Args& args) {
    const Index blocks = Program::blocks(args);
    if (blocks == 0) return;
    if (blocks > kMostBlocks) check(cudaErrorInvalidConfiguration, "a launch of too many blocks");
    constexpr std::size_t kShared = sizeof(typename Program::Shared);
    if constexpr (kShared > kPlainShared) {
      CUDA_TRY(cudaFuncSetAttribute(run_program<Program>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(kShared)));
    }
    run_program<Program><<<static_cast<unsigned>(blocks), Program::kThreads, kShared, place_.stream>>>(args, place_.flag);
    CUDA_TRY(cudaGetLastError());
  }

  /// Whether this device multiplies matrices of S within a program.
  template <typename S>
  [[nodiscard]] bool multiplies_matrices() const {
    return has_matrix_units<S>(place_.capability);
  }

  /// By the library where there is one and nothing guards the launch.
  template <typename S>
  void multiply(const ProductArgs<S>& args) {
    if (place_.flag == nullptr) return multiply_anyway(args);
    run<TileProduct<S>>(args);
  }

  /// Whatever guards the launch: into a workspace, where nobody looks for what a launch that does nothing left.
  template <typename S>
  void multiply_anyway(const ProductArgs<S>& args) {
    if (place_.library != nullptr && place_.library->multiply(args, tf32_, place_.stream)) return;
    run<TileProduct<S>>(args);
  }

  void clear(std::byte* memory, Bytes bytes) {
    CUDA_TRY(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes.count), place_.stream));
  }

 private:
  LaunchPlace place_;
  bool tf32_;
};

}  // namespace plimsoll::cuda
