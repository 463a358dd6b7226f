#pragma once

#include <bit>

#include "executor/cuda/kernels/matrix_units.h"

// Packs of eight neighbouring elements, which a thread moves by 16 bytes at once where they lie so, else one by one. The arithmetic is the
// same either way, as a plan decides where operands lie. Beside what matrix_units.h asks of it, a Block has
//   read(place)           16 bytes, from a multiple of 16
//   write(place, quad)    the same, stored
//   ballot(said)          in bit t whether thread t of the warp said so
//   first_bit(word)       the place of the lowest bit that is set
namespace plimsoll::cuda {

inline constexpr int kPack = 8;

struct alignas(16) Quad {
  Word words[4];
};

/// Whether rows of `width` elements `stride` apart, from all these places on, can be moved by 16 bytes.
template <typename... Places>
bool are_packed(Index width, Index stride, const Places*... places) {
  const auto is_even = [](const void* place) { return reinterpret_cast<std::uintptr_t>(place) % sizeof(Quad) == 0; };
  return width % kPack == 0 && stride % kPack == 0 && (is_even(places) && ...);
}

/// Elements `at` and on of a row of `width`; 0 beyond it.
template <typename Block, typename S>
PLIMSOLL_DEVICE void load_pack(const Block& block, float (&values)[kPack], const S* row, Index at, Index width, bool packed) {
  if (!packed) {
    for (int k = 0; k < kPack; ++k) values[k] = at + k < width ? wide(row[at + k]) : 0;
  } else if constexpr (sizeof(S) == 2) {
    const Quad quad = block.read(row + at);
    PLIMSOLL_UNROLL for (int k = 0; k < kPack; ++k) values[k] = wide(S{static_cast<std::uint16_t>(quad.words[k / 2] >> (16 * (k % 2)))});
  } else {
    const Quad quads[2] = {block.read(row + at), block.read(row + at + 4)};
    PLIMSOLL_UNROLL for (int k = 0; k < kPack; ++k) values[k] = std::bit_cast<float>(quads[k / 4].words[k % 4]);
  }
}

/// Stores them, those beyond the row left out.
template <typename Block>
PLIMSOLL_DEVICE void store_pack(const Block& block, float* row, const float (&values)[kPack], Index at, Index width, bool packed) {
  if (packed) {
    Quad quads[2];
    PLIMSOLL_UNROLL for (int k = 0; k < kPack; ++k) quads[k / 4].words[k % 4] = std::bit_cast<Word>(values[k]);
    block.write(row + at, quads[0]);
    block.write(row + at + 4, quads[1]);
    return;
  }
  for (int k = 0; k < kPack && at + k < width; ++k) row[at + k] = values[k];
}

template <typename Block, typename S>
PLIMSOLL_DEVICE void store_pack(const Block& block, S* row, const float (&values)[kPack], Index at, Index width, bool packed) {
  Quad quad;
  PLIMSOLL_UNROLL for (int k = 0; k < kPack / 2; ++k) quad.words[k] = block.pack(S(), values[2 * k], values[2 * k + 1]);
  if (packed) return block.write(row + at, quad);
  PLIMSOLL_UNROLL for (int k = 0; k < kPack; ++k) {  // unrolled: a register has no address
    if (at + k < width) row[at + k].bits = static_cast<std::uint16_t>(quad.words[k / 2] >> (16 * (k % 2)));
  }
}

/// Calls `apply(block, row, at, packed)` for every pack of every row.
template <typename Apply>
struct ForEachPack {
  static constexpr int kThreads = 256;
  struct Args {
    Index rows, width;
    bool packed;
    Apply apply;
  };
  struct Shared {};

  static Index blocks(const Args& args) { return parts_of(args.rows * parts_of(args.width, kPack), kThreads); }

  template <typename Block>
  PLIMSOLL_DEVICE static void run(const Block& block, Shared&, const Args& a) {
    const Index packs = parts_of(a.width, kPack), pack = block.index() * kThreads + block.thread();
    const Index row = a.rows == 1 ? 0 : pack / packs;
    if (row < a.rows && pack - row * packs < packs) a.apply(block, row, (pack - row * packs) * kPack, a.packed);
  }
};

/// What the threads of a warp have in all; each has the result.
template <typename Block>
PLIMSOLL_DEVICE float sum_of_warp(const Block& block, float value) {
  for (int bits = 16; bits > 0; bits /= 2) value += block.from_lane(value, bits);
  return value;
}

}  // namespace plimsoll::cuda
