#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "executor/cuda/kernels/pack.h"

// Device code only: what kernels/ asks of a Block, by the device's instructions.
namespace plimsoll::cuda {

/// Whether a device of this compute capability (75: 7.5) multiplies matrices of S.
template <typename S>
constexpr bool has_matrix_units(int capability) {
  if constexpr (std::is_same_v<S, Bf16>) return capability >= 80;
  return std::is_same_v<S, Fp16> && capability >= 75;
}

/// Threads of a block as the device has them.
struct DeviceBlock {
  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ Index index() const { return static_cast<Index>(blockIdx.x); }
  __device__ void sync() const { __syncthreads(); }

  __device__ float from_lane(float value, int bits) const { return __shfl_xor_sync(0xffffffffU, value, bits); }
  __device__ Word ballot(bool said) const { return __ballot_sync(0xffffffffU, said ? 1 : 0); }
  __device__ int first_bit(Word word) const { return __ffs(static_cast<int>(word)) - 1; }

  __device__ Quad read(const void* place) const {
    const uint4 words = *static_cast<const uint4*>(place);
    return {{words.x, words.y, words.z, words.w}};
  }
  __device__ void write(void* place, const Quad& quad) const {
    *static_cast<uint4*>(place) = {quad.words[0], quad.words[1], quad.words[2], quad.words[3]};
  }

  __device__ void load(Word (&words)[4], const void* row) const {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(shared_address(row))
                 : "memory");
  }
  __device__ void load_turned(Word (&words)[4], const void* row) const {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(shared_address(row))
                 : "memory");
  }

#if __CUDA_ARCH__ >= 800
  __device__ void multiply(Bf16, Sums& sums, const Word (&left)[4], const Word* right) const {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
  }
  __device__ void multiply(Fp16, Sums& sums, const Word (&left)[4], const Word* right) const {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
  }
  __device__ void fetch(void* to, const void* from, bool there) const {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(there ? 16 : 0)
                 : "memory");
  }
  __device__ void fetch(float* to, const float* from, bool there) const {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(there ? 4 : 0)
                 : "memory");
  }
  __device__ void await() const { asm volatile("cp.async.wait_all;" ::: "memory"); }
#else
  /// The halves of a fragment of 16 columns are fragments of mma.m16n8k8.
  __device__ void multiply(Fp16, Sums& sums, const Word (&left)[4], const Word* right) const {
    for (int half = 0; half < 2; ++half) {
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
          "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
          : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
          : "r"(left[2 * half]), "r"(left[2 * half + 1]), "r"(right[half]));
    }
  }
  __device__ void fetch(void* to, const void* from, bool there) const {
    *static_cast<uint4*>(to) = there ? *static_cast<const uint4*>(from) : uint4{};
  }
  __device__ void fetch(float* to, const float* from, bool there) const { *to = there ? *from : 0; }
  __device__ void await() const {}
#endif

  __device__ float exp2(float x) const {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
  }
  __device__ Word pack(Bf16, float first, float second) const {
    const __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
    return reinterpret_cast<const Word&>(both);
  }
  __device__ Word pack(Fp16, float first, float second) const {
    const __half2 both = __floats2half2_rn(first, second);
    return reinterpret_cast<const Word&>(both);
  }
  /// `place` is a multiple of a word.
  template <typename S>
  __device__ void put_pair(S* place, float first, float second) const {
    *reinterpret_cast<Word*>(place) = pack(S(), first, second);
  }

 private:
  __device__ static unsigned shared_address(const void* place) {
    return static_cast<unsigned>(__cvta_generic_to_shared(place));
  }
};

}  // namespace plimsoll::cuda
