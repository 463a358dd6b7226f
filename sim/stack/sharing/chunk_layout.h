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

/// Colossal-AI's search: of the sizes from 32 Mi elements (or the largest tensor that is not far above the others) on, in steps of
/// 1024 through another 32 Mi, the one that leaves least unused.
ChunkLayout search_chunks(const std::vector<std::int64_t>& tensors);

}  // namespace plimsoll
