#include "sim/memory/caching_allocator.h"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr Bytes kRounding{512};
constexpr Bytes kSmallRequest = kMiB;
constexpr Bytes kSmallSegment = 2 * kMiB;
constexpr Bytes kLargeSegment = 20 * kMiB;
constexpr Bytes kOwnSegmentFrom = 10 * kMiB;
constexpr Bytes kSegmentStep = 2 * kMiB;
/// Between the addresses of two segments; nothing joins across it.
constexpr Bytes kGap = 2 * kMiB;
/// Room that one expandable segment may grow into.
constexpr Bytes kExpandableRange{std::int64_t{1} << 44};

}  // namespace

Bytes CachingAllocator::rounded(Bytes size) { return std::max(kRounding, align_up(size, kRounding)); }

Bytes CachingAllocator::segment_size(Bytes size) {
  if (size <= kSmallRequest) return kSmallSegment;
  if (size < kOwnSegmentFrom) return kLargeSegment;
  return align_up(size, kSegmentStep);
}

CachingAllocator::BlockId CachingAllocator::new_block(Block block) {
  if (unused_ids_.empty()) {
    blocks_.push_back(block);
    return static_cast<BlockId>(blocks_.size() - 1);
  }
  const BlockId id = unused_ids_.back();
  unused_ids_.pop_back();
  blocks_[id] = block;
  return id;
}

/// A run has few pools: of small and large blocks, for each stream.
const CachingAllocator::Pool* CachingAllocator::known_pool(std::uint32_t stream, bool small) const {
  const auto found =
      std::find_if(pools_.begin(), pools_.end(), [&](const Pool& pool) { return pool.stream == stream && pool.small == small; });
  return found == pools_.end() ? nullptr : &*found;
}

std::uint32_t CachingAllocator::pool_of(std::uint32_t stream, bool small) {
  if (const Pool* known = known_pool(stream, small)) return static_cast<std::uint32_t>(known - pools_.data());
  pools_.push_back({.stream = stream, .small = small, .free = {}});
  return static_cast<std::uint32_t>(pools_.size() - 1);
}

FreeBlock CachingAllocator::entry_of(BlockId id) const {
  return {.size = blocks_[id].size.count, .address = blocks_[id].address.count, .id = id};
}

void CachingAllocator::insert_free(BlockId id) {
  blocks_[id].in_use = false;
  pools_[blocks_[id].pool].free.insert(entry_of(id));
}

void CachingAllocator::erase_free(BlockId id) {
  FreeBlocks& free = pools_[blocks_[id].pool].free;
  free.erase(free.place_of(entry_of(id)));
}

/// Where the best-fitting free block stands, if it may be taken.
std::optional<FreeBlocks::Place> CachingAllocator::serves(const Pool& pool, Bytes size) const {
  const FreeBlocks::Place found = pool.free.at_least(size.count);
  if (pool.free.is_end(found)) return std::nullopt;
  const Bytes has(pool.free.at(found).size);
  // Blocks beyond the split limit serve only requests beyond it, and those only with little left over.
  if (size < options_.max_split && has >= options_.max_split) return std::nullopt;
  if (size >= options_.max_split && has >= size + kLargeSegment) return std::nullopt;
  return found;
}

std::optional<CachingAllocator::BlockId> CachingAllocator::take_free(Bytes size, std::uint32_t pool) {
  const auto found = serves(pools_[pool], size);
  if (!found) return std::nullopt;
  const BlockId id = pools_[pool].free.at(*found).id;
  pools_[pool].free.erase(*found);
  return id;
}

bool CachingAllocator::reserve(Bytes bytes) {
  if (reserved_ + bytes > options_.limit) {
    least_refused_ = std::min(least_refused_.value_or(reserved_ + bytes), reserved_ + bytes);
    return false;
  }
  reserved_ += bytes;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  return true;
}

std::optional<CachingAllocator::BlockId> CachingAllocator::take_new(Bytes size, std::uint32_t pool) {
  if (options_.expandable_segments) return grow(size, pool);
  const Bytes bytes = segment_size(size);
  if (!reserve(bytes)) return std::nullopt;
  const BlockId id = new_block({.address = next_address_, .size = bytes, .pool = pool});
  next_address_ += bytes + kGap;
  return id;
}

/// Maps pages at the end of the stream's segment; a free block that ends there is made larger.
std::optional<CachingAllocator::BlockId> CachingAllocator::grow(Bytes size, std::uint32_t of_pool) {
  Pool& pool = pools_[of_pool];
  const Bytes page = pool.small ? kSmallSegment : kLargeSegment;
  const bool extends = pool.tail != kNone && !blocks_[pool.tail].in_use;
  const Bytes has = extends ? blocks_[pool.tail].size : Bytes(0);
  const std::int64_t pages = (size.count - has.count + page.count - 1) / page.count;
  const Bytes bytes = pages * page;
  if (!reserve(bytes)) return std::nullopt;
  if (extends) {
    erase_free(pool.tail);
    blocks_[pool.tail].size += bytes;
    return pool.tail;
  }
  if (pool.tail == kNone) {
    pool.tail = new_block({.address = next_address_, .size = bytes, .pool = of_pool});
    next_address_ += kExpandableRange;
    return pool.tail;
  }
  const BlockId last = pool.tail;
  const BlockId id = new_block(
      {.address = blocks_[last].address + blocks_[last].size, .size = bytes, .pool = of_pool, .previous = last});
  blocks_[last].next = id;
  pool.tail = id;
  return id;
}

void CachingAllocator::split(BlockId id, Bytes size) {
  const Bytes rest = blocks_[id].size - size;
  const bool worth = pools_[blocks_[id].pool].small || options_.expandable_segments ? rest >= kRounding
                                                                      : size < options_.max_split && rest > kSmallRequest;
  if (!worth) return;
  Block tail = blocks_[id];
  tail.address = blocks_[id].address + size;
  tail.size = rest;
  tail.previous = id;
  const BlockId second = new_block(tail);
  if (tail.next != kNone) blocks_[tail.next].previous = second;
  blocks_[id].size = size;
  blocks_[id].next = second;
  if (pools_[tail.pool].tail == id) pools_[tail.pool].tail = second;
  insert_free(second);
}

std::optional<std::vector<CachingAllocator::BlockId>> CachingAllocator::adopt(const std::vector<Held>& held, bool small,
                                                                              std::uint32_t stream) {
  Bytes bytes;
  for (const Held& block : held) bytes += block.size;
  if (!reserve(bytes)) return std::nullopt;
  const std::uint32_t pool = pool_of(stream, small);
  std::vector<BlockId> ids;
  for (const Held& block : held) {
    const BlockId before = ids.empty() ? kNone : ids.back();
    const BlockId id = new_block({.address = next_address_, .size = block.size, .pool = pool, .previous = before});
    next_address_ += block.size;
    if (before != kNone) blocks_[before].next = id;
    blocks_[id].in_use = block.in_use;
    if (block.in_use) allocated_ += block.size;
    else insert_free(id);
    ids.push_back(id);
  }
  next_address_ += kGap;
  peak_allocated_ = std::max(peak_allocated_, allocated_);
  return ids;
}

std::optional<CachingAllocator::BlockId> CachingAllocator::allocate(Bytes requested, std::uint32_t stream) {
  const Bytes size = rounded(requested);
  const std::uint32_t pool = pool_of(stream, size <= kSmallRequest);
  auto id = take_free(size, pool);
  if (!id) id = take_new(size, pool);
  while (!id && give_back_one(segment_size(size), stream)) id = take_new(size, pool);
  if (!id) {
    empty_cache();
    id = take_new(size, pool);
  }
  if (!id) return std::nullopt;
  blocks_[*id].in_use = true;
  split(*id, size);
  allocated_ += blocks_[*id].size;
  peak_allocated_ = std::max(peak_allocated_, allocated_);
  return id;
}

void CachingAllocator::join(BlockId left, BlockId right) {
  blocks_[left].size += blocks_[right].size;
  blocks_[left].next = blocks_[right].next;
  if (blocks_[right].next != kNone) blocks_[blocks_[right].next].previous = left;
  Pool& pool = pools_[blocks_[left].pool];
  if (pool.tail == right) pool.tail = left;
  unused_ids_.push_back(right);
}

void CachingAllocator::free(BlockId id) {
  allocated_ -= blocks_[id].size;
  blocks_[id].in_use = false;
  const BlockId next = blocks_[id].next;
  if (next != kNone && !blocks_[next].in_use) {
    erase_free(next);
    join(id, next);
  }
  const BlockId previous = blocks_[id].previous;
  if (previous != kNone && !blocks_[previous].in_use) {
    erase_free(previous);
    join(previous, id);
    id = previous;
  }
  insert_free(id);
}

void CachingAllocator::release_segment(BlockId id) {
  erase_free(id);
  reserved_ -= blocks_[id].size;
  unused_ids_.push_back(id);
}

/// With a split limit: the smallest cached segment that is large enough on its own goes first.
bool CachingAllocator::give_back_one(Bytes at_least, std::uint32_t stream) {
  if (options_.max_split >= Bytes(std::int64_t{1} << 60) || options_.expandable_segments) return false;
  const FreeBlocks& free = pools_[pool_of(stream, false)].free;
  auto found = free.at_least(std::max(at_least, options_.max_split).count);
  for (; !free.is_end(found); found = free.after(found)) {
    const BlockId id = free.at(found).id;
    if (blocks_[id].previous != kNone || blocks_[id].next != kNone) continue;
    release_segment(id);
    return true;
  }
  return false;
}

void CachingAllocator::unmap_tail(Pool& pool) {
  if (pool.tail == kNone || blocks_[pool.tail].in_use) return;
  const BlockId tail = pool.tail;
  if (blocks_[tail].previous == kNone) {
    release_segment(tail);
    pool.tail = kNone;
    return;
  }
  const Bytes page = pool.small ? kSmallSegment : kLargeSegment;
  const Bytes whole{blocks_[tail].size.count / page.count * page.count};
  erase_free(tail);
  reserved_ -= whole;
  blocks_[tail].size -= whole;
  if (blocks_[tail].size > Bytes(0)) {
    insert_free(tail);
    return;
  }
  pool.tail = blocks_[tail].previous;
  blocks_[pool.tail].next = kNone;
  unused_ids_.push_back(tail);
}

void CachingAllocator::empty_cache() {
  if (options_.expandable_segments) {
    for (Pool& pool : pools_) unmap_tail(pool);
    return;
  }
  std::vector<BlockId> whole;
  for (const Pool& pool : pools_) {
    pool.free.for_each([&](const FreeBlock& block) {
      if (blocks_[block.id].previous == kNone && blocks_[block.id].next == kNone) whole.push_back(block.id);
    });
  }
  for (const BlockId id : whole) release_segment(id);
}

bool CachingAllocator::is_met_within(Bytes limit, Bytes requested, std::uint32_t stream) const {
  const Bytes size = rounded(requested);
  const bool small = size <= kSmallRequest;
  // An expandable segment takes less where its tail is free.
  const Bytes page = small ? kSmallSegment : kLargeSegment;
  const Bytes most = options_.expandable_segments ? align_up(size, page) : segment_size(size);
  if (reserved_ + most <= limit) return true;
  const Pool* pool = known_pool(stream, small);
  return pool != nullptr && serves(*pool, size);
}

void CachingAllocator::reset_peaks() {
  peak_allocated_ = allocated_;
  peak_reserved_ = reserved_;
}

}  // namespace plimsoll
