#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

/// Tensors in chunks of one size, one behind the other; a larger one has a chunk of its own.
struct ChunkLayout {
  std::int64_t chunk = 0;                 ///< elements
  std::vector<std::int64_t> sizes;        ///< of each chunk: `chunk`, or a larger tensor's
  std::vector<std::size_t> chunk_of;      ///< by tensor
};

ChunkLayout lay_out(const std::vector<std::int64_t>& tensors, std::int64_t chunk);

/// What packing them so leaves unused, in elements.
std::int64_t chunk_waste(const std::vector<std::int64_t>& tensors, std::int64_t chunk);

/// Sizes that are looked at.
struct ChunkRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::int64_t interval = 1;
};

/// The size with the least waste, the smallest of equals.
std::int64_t best_chunk(const std::vector<std::int64_t>& tensors, const ChunkRange& range);

/// Colossal-AI's search: of the sizes from 32 Mi elements (or the largest tensor that is not far above the others) on, in steps of
/// 1024 through another 32 Mi, the one that leaves least unused.
ChunkLayout search_chunks(const std::vector<std::int64_t>& tensors);

}  // namespace plimsoll
