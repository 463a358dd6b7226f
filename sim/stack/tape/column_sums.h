#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/quantity.h"

namespace plimsoll {

/// What of a GPU decides how PyTorch spreads a sum over its thread blocks.
struct SumBlocks {
  std::int64_t multiprocessors = 0;  ///< 0: sums take no buffer
  std::int64_t threads = 2048;       ///< that live on one of them at once
};

/// Of a GPU of so many multiprocessors and this compute capability ("8.6"). Threads at once after CUDA's programming guide
/// (technical specifications): 1024 on Turing, 1536 on the boards of Ampere, Ada and Blackwell without HBM, else 2048.
SumBlocks sum_blocks_of(std::int64_t multiprocessors, std::string_view capability);

/// The buffer of fp32 in which PyTorch's sum over the outer dimension of [rows, columns] (a bias's gradient, a broadcast
/// weight's) brings the parts of several thread blocks together, 0 where one block sums a column. A block of 32 × 4
/// threads takes up to four columns a thread; from 256 values a thread on the rows are shared out, so that all
/// multiprocessors are busy, but each thread keeps 16 values (PyTorch's published reduction rules, ATen/native/cuda/Reduce).
/// Each thread has its own place in the buffer: it comes to about 64 KiB · the blocks that a GPU runs at once.
Bytes column_sum_buffer(std::int64_t rows, std::int64_t columns, const SumBlocks& gpu);

}  // namespace plimsoll
