#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

/// What packing tensors into chunks of one size leaves unused, in elements: each tensor goes behind the one before it where the
/// chunk has room, else into the next chunk; a larger one has a chunk of its own.
std::int64_t chunk_waste(const std::vector<std::int64_t>& tensors, std::int64_t chunk);

/// Which sizes are looked at.
struct ChunkRange {
  std::int64_t least = std::int64_t{32} << 20;  ///< elements; Colossal-AI's min_chunk_size_m
  std::int64_t most = std::int64_t{64} << 20;   ///< and search_range_m beyond it
  std::int64_t interval = 1024;
};

/// The chunk size with the least waste (Gemini's search), the smallest of equals.
std::int64_t best_chunk(const std::vector<std::int64_t>& tensors, const ChunkRange& range = {});

}  // namespace plimsoll
