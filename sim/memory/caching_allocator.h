#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/quantity.h"
#include "sim/memory/free_blocks.h"

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
  /// The least that all segments together would have come to where the limit forbade it; nothing: it never did. With any
  /// limit from the highest that was reserved up to below this one everything goes alike.
  [[nodiscard]] std::optional<Bytes> least_refused() const { return least_refused_; }
  /// Whether a request would be met at once with every limit of at least that, and so in the same way; false where it may not.
  [[nodiscard]] bool is_met_within(Bytes limit, Bytes size, std::uint32_t stream = 0) const;
  /// The same allocator with another limit from now on.
  void set_limit(Bytes limit) { options_.limit = limit; }
  /// Peaks begin anew at what is there now.
  void reset_peaks();

 private:
  static constexpr BlockId kNone = ~BlockId{0};
  struct Block {
    Bytes address;
    Bytes size;
    std::uint32_t pool = 0;
    bool in_use = false;
    BlockId previous = kNone;
    BlockId next = kNone;
  };
  /// Blocks of a stream, small or large.
  struct Pool {
    std::uint32_t stream = 0;
    bool small = false;
    FreeBlocks free;
    BlockId tail = kNone;  ///< last block of its expandable segment
  };

  [[nodiscard]] static Bytes rounded(Bytes size);
  [[nodiscard]] static Bytes segment_size(Bytes rounded);
  std::uint32_t pool_of(std::uint32_t stream, bool small);
  [[nodiscard]] const Pool* known_pool(std::uint32_t stream, bool small) const;
  BlockId new_block(Block block);
  std::optional<BlockId> take_free(Bytes size, std::uint32_t pool);
  [[nodiscard]] std::optional<FreeBlocks::Place> serves(const Pool& pool, Bytes size) const;
  std::optional<BlockId> take_new(Bytes size, std::uint32_t pool);
  std::optional<BlockId> grow(Bytes size, std::uint32_t pool);
  bool reserve(Bytes bytes);
  bool give_back_one(Bytes at_least, std::uint32_t stream);
  void split(BlockId block, Bytes size);
  void join(BlockId left, BlockId right);
  void insert_free(BlockId block);
  void erase_free(BlockId block);
  void release_segment(BlockId whole);
  void unmap_tail(Pool& pool);
  [[nodiscard]] FreeBlock entry_of(BlockId block) const;

  CachingAllocatorOptions options_;
  std::vector<Block> blocks_;
  std::vector<BlockId> unused_ids_;
  std::vector<Pool> pools_;
  Bytes next_address_;
  Bytes allocated_;
  Bytes reserved_;
  Bytes peak_allocated_;
  Bytes peak_reserved_;
  std::optional<Bytes> least_refused_;
};

}  // namespace plimsoll
