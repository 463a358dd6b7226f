#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/quantity.h"

namespace plimsoll {

/// How PyTorch's caching allocator is configured (PYTORCH_CUDA_ALLOC_CONF), and how much there is to take.
struct CachingAllocatorOptions {
  Bytes limit{std::int64_t{1} << 60};   ///< of all segments together
  Bytes max_split = Bytes(std::int64_t{1} << 60);  ///< max_split_size_mb: larger blocks are given whole or not at all
  bool expandable_segments = false;     ///< one growing segment a stream and pool, mapped in pages of 2 or 20 MiB
};

/// PyTorch's caching allocator (c10/cuda/CUDACachingAllocator) by its published rules: requests are rounded to 512 bytes;
/// up to 1 MiB comes from segments of 2 MiB, up to 10 MiB from segments of 20 MiB, more from segments of its own size in
/// steps of 2 MiB; the best-fitting free block is taken, split where the rest is worth keeping (512 bytes in small segments,
/// more than 1 MiB in large ones), and freed blocks join with free neighbours. Streams do not share blocks. A segment that
/// cannot be had makes it give back its wholly free ones and try again.
class CachingAllocator {
 public:
  using BlockId = std::uint32_t;

  explicit CachingAllocator(CachingAllocatorOptions options = {}) : options_(options) {}

  /// A block for `size` bytes; nothing when memory has run out, caches given back. Nothing changes then but the caches.
  std::optional<BlockId> allocate(Bytes size, std::uint32_t stream = 0);
  void free(BlockId block);

  /// One block of a segment that was there before the first request.
  struct Held {
    Bytes size;
    bool in_use = false;
  };
  /// Takes over a segment as it is, its blocks one behind another; small ones serve requests of up to 1 MiB. Nothing when the
  /// limit forbids it.
  std::optional<std::vector<BlockId>> adopt(const std::vector<Held>& blocks, bool small, std::uint32_t stream = 0);
  /// Gives back every segment that holds no block in use.
  void empty_cache();

  [[nodiscard]] Bytes block_size(BlockId block) const { return blocks_[block].size; }
  /// Lowest byte of the block, counted through all segments; two live blocks never overlap.
  [[nodiscard]] Bytes address(BlockId block) const { return blocks_[block].address; }
  [[nodiscard]] Bytes allocated() const { return allocated_; }
  [[nodiscard]] Bytes reserved() const { return reserved_; }
  [[nodiscard]] Bytes peak_allocated() const { return peak_allocated_; }
  [[nodiscard]] Bytes peak_reserved() const { return peak_reserved_; }
  /// Peaks begin anew at what is there now.
  void reset_peaks();

 private:
  static constexpr BlockId kNone = ~BlockId{0};
  struct Block {
    Bytes address;
    Bytes size;
    std::uint32_t stream = 0;
    bool small = false;
    bool in_use = false;
    BlockId previous = kNone;
    BlockId next = kNone;
  };
  /// Free blocks of a stream and pool, by size and then address.
  using FreeBlocks = std::set<std::pair<std::pair<std::int64_t, std::int64_t>, BlockId>>;
  using PoolKey = std::pair<std::uint32_t, bool>;

  [[nodiscard]] static Bytes rounded(Bytes size);
  [[nodiscard]] static Bytes segment_size(Bytes rounded);
  FreeBlocks& pool_of(const Block& block) { return pools_[{block.stream, block.small}]; }
  BlockId new_block(Block block);
  std::optional<BlockId> take_free(Bytes size, std::uint32_t stream, bool small);
  std::optional<BlockId> take_new(Bytes size, std::uint32_t stream, bool small);
  std::optional<BlockId> grow(Bytes size, std::uint32_t stream, bool small);
  bool reserve(Bytes bytes);
  bool give_back_one(Bytes at_least, std::uint32_t stream);
  void split(BlockId block, Bytes size);
  void join(BlockId left, BlockId right);
  void insert_free(BlockId block);
  void erase_free(BlockId block);
  void release_segment(BlockId whole);
  void unmap_tails();

  CachingAllocatorOptions options_;
  std::vector<Block> blocks_;
  std::vector<BlockId> unused_ids_;
  std::map<PoolKey, FreeBlocks> pools_;
  std::map<PoolKey, BlockId> growing_tail_;  ///< last block of an expandable segment
  Bytes next_address_;
  Bytes allocated_;
  Bytes reserved_;
  Bytes peak_allocated_;
  Bytes peak_reserved_;
};

}  // namespace plimsoll
