#pragma once

#include "executor/cuda/kernels/scalar.h"

// Programs that multiply by matrix units ask more of a Block. The 32 threads of a warp do together:
//   multiply(S(), sums, left, right)   sums += left · right, of fragments as below
//   load(words, row)                   four matrices of 8 × 8 elements in shared memory: thread t names row t % 8 of
//                                      matrix t / 8, and gets of each its elements (t / 4, 2 (t % 4)) and the next
//   load_turned(words, row)            the same of the matrices' transposes
//   from_lane(value, bits)             the value of the thread whose number differs in these bits
// and every thread for itself:
//   fetch(to, from, there)             begins to copy 16 bytes (a float: 4) to shared memory; zeros unless `there`
//   await()                            what this thread began to copy has come
//   exp2(x)                            a power of two to fp32's last bits
//   pack(S(), first, second)           two elements in a word, rounded as put() rounds
//   put_pair(place, first, second)     the same, stored
//
// A fragment is a thread's part of a small matrix (PTX ISA, mma.m16n8k16 of 16-bit elements). A word holds two
// elements, the lower half first. Of thread t, with g = t / 4 and p = 2 (t % 4):
//   left   16 × 16, four words   (g, p) (g, p + 1) | (g + 8, p) … | (g, p + 8) … | (g + 8, p + 8) …
//   right  16 × 8,  two words    (p, g) (p + 1, g) | (p + 8, g) (p + 9, g)
//   sums   16 × 8,  four fp32    (g, p) | (g, p + 1) | (g + 8, p) | (g + 8, p + 1)
// So the sums of a product are, packed, the left operand of the next, and a row's lie in four neighbouring threads.
#ifdef __CUDACC__
#define PLIMSOLL_UNROLL _Pragma("unroll")
#else
#define PLIMSOLL_UNROLL
#endif

namespace plimsoll::cuda {

inline constexpr float kLog2E = 1.4426950408889634F;  ///< exponentials are of two: what the device has

using Word = std::uint32_t;
using Sums = float[4];  ///< of 16 × 8

/// Where a thread's parts of fragments are.
struct WarpPlace {
  int row, pair;     ///< g and p
  int left, ahead;   ///< row and column that it names to load a left operand, or two right ones turned
  int right, along;  ///< … or two right operands whose columns are rows in memory

  PLIMSOLL_DEVICE explicit WarpPlace(int lane)
      : row(lane / 4),
        pair(lane % 4 * 2),
        left(lane % 16),
        ahead(lane / 16 * 8),
        right(lane % 8 + lane / 16 * 8),
        along(lane / 8 % 2 * 8) {}
};

/// Sums of 16 rows and kColumns columns, in a row: two neighbouring sums of 8 columns are a left operand.
template <typename S, typename Block>
PLIMSOLL_DEVICE void pack_left(const Block& block, S, const Sums* sums, Word (&left)[4]) {
  left[0] = block.pack(S(), sums[0][0], sums[0][1]);
  left[1] = block.pack(S(), sums[0][2], sums[0][3]);
  left[2] = block.pack(S(), sums[1][0], sums[1][1]);
  left[3] = block.pack(S(), sums[1][2], sums[1][3]);
}

/// What the four threads of a row make of their values together, in a fixed order.
template <typename Block, typename Join>
PLIMSOLL_DEVICE float join_row(const Block& block, float value, Join join) {
  value = join(value, block.from_lane(value, 1));
  return join(value, block.from_lane(value, 2));
}

}  // namespace plimsoll::cuda
