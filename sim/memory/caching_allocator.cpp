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

void CachingAllocator::insert_free(BlockId id) {
  Block& block = blocks_[id];
  block.in_use = false;
  pool_of(block).insert({{block.size.count, block.address.count}, id});
}

void CachingAllocator::erase_free(BlockId id) {
  const Block& block = blocks_[id];
  pool_of(block).erase({{block.size.count, block.address.count}, id});
}

std::optional<CachingAllocator::BlockId> CachingAllocator::take_free(Bytes size, std::uint32_t stream, bool small) {
  FreeBlocks& pool = pools_[{stream, small}];
  const auto found = pool.lower_bound({{size.count, 0}, 0});
  if (found == pool.end()) return std::nullopt;
  const BlockId id = found->second;
  const Bytes has = blocks_[id].size;
  // Blocks beyond the split limit serve only requests beyond it, and those only with little left over.
  if (size < options_.max_split && has >= options_.max_split) return std::nullopt;
  if (size >= options_.max_split && has >= size + kLargeSegment) return std::nullopt;
  pool.erase(found);
  return id;
}

bool CachingAllocator::reserve(Bytes bytes) {
  if (reserved_ + bytes > options_.limit) return false;
  reserved_ += bytes;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  return true;
}

std::optional<CachingAllocator::BlockId> CachingAllocator::take_new(Bytes size, std::uint32_t stream, bool small) {
  if (options_.expandable_segments) return grow(size, stream, small);
  const Bytes bytes = segment_size(size);
  if (!reserve(bytes)) return std::nullopt;
  const BlockId id = new_block({.address = next_address_, .size = bytes, .stream = stream, .small = small});
  next_address_ += bytes + kGap;
  return id;
}

/// Maps pages at the end of the stream's segment; a free block that ends there is made larger.
std::optional<CachingAllocator::BlockId> CachingAllocator::grow(Bytes size, std::uint32_t stream, bool small) {
  const Bytes page = small ? kSmallSegment : kLargeSegment;
  const auto tail = growing_tail_.find({stream, small});
  const bool extends = tail != growing_tail_.end() && !blocks_[tail->second].in_use;
  const Bytes has = extends ? blocks_[tail->second].size : Bytes(0);
  const std::int64_t pages = (size.count - has.count + page.count - 1) / page.count;
  const Bytes bytes = pages * page;
  if (!reserve(bytes)) return std::nullopt;
  if (extends) {
    erase_free(tail->second);
    blocks_[tail->second].size += bytes;
    return tail->second;
  }
  if (tail == growing_tail_.end()) {
    const BlockId id = new_block({.address = next_address_, .size = bytes, .stream = stream, .small = small});
    next_address_ += kExpandableRange;
    growing_tail_[{stream, small}] = id;
    return id;
  }
  const BlockId last = tail->second;
  const BlockId id = new_block({.address = blocks_[last].address + blocks_[last].size, .size = bytes, .stream = stream,
                                .small = small, .previous = last});
  blocks_[last].next = id;
  tail->second = id;
  return id;
}

void CachingAllocator::split(BlockId id, Bytes size) {
  const Bytes rest = blocks_[id].size - size;
  const bool worth = blocks_[id].small || options_.expandable_segments ? rest >= kRounding
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
  const auto growing = growing_tail_.find({tail.stream, tail.small});
  if (growing != growing_tail_.end() && growing->second == id) growing->second = second;
  insert_free(second);
}

std::optional<std::vector<CachingAllocator::BlockId>> CachingAllocator::adopt(const std::vector<Held>& held, bool small,
                                                                              std::uint32_t stream) {
  Bytes bytes;
  for (const Held& block : held) bytes += block.size;
  if (!reserve(bytes)) return std::nullopt;
  std::vector<BlockId> ids;
  for (const Held& block : held) {
    const BlockId before = ids.empty() ? kNone : ids.back();
    const BlockId id = new_block({.address = next_address_, .size = block.size, .stream = stream, .small = small, .previous = before});
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
  const bool small = size <= kSmallRequest;
  auto id = take_free(size, stream, small);
  if (!id) id = take_new(size, stream, small);
  while (!id && give_back_one(segment_size(size), stream)) id = take_new(size, stream, small);
  if (!id) {
    empty_cache();
    id = take_new(size, stream, small);
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
  const auto growing = growing_tail_.find({blocks_[left].stream, blocks_[left].small});
  if (growing != growing_tail_.end() && growing->second == right) growing->second = left;
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
  FreeBlocks& pool = pools_[{stream, false}];
  auto found = pool.lower_bound({{std::max(at_least, options_.max_split).count, 0}, 0});
  while (found != pool.end()) {
    const Block& block = blocks_[found->second];
    if (block.previous == kNone && block.next == kNone) {
      release_segment(found->second);
      return true;
    }
    ++found;
  }
  return false;
}

void CachingAllocator::unmap_tails() {
  for (auto entry = growing_tail_.begin(); entry != growing_tail_.end();) {
    const BlockId tail = entry->second;
    const Bytes page = entry->first.second ? kSmallSegment : kLargeSegment;
    if (blocks_[tail].in_use) {
      ++entry;
      continue;
    }
    if (blocks_[tail].previous == kNone) {
      release_segment(tail);
      entry = growing_tail_.erase(entry);
      continue;
    }
    const Bytes whole{blocks_[tail].size.count / page.count * page.count};
    erase_free(tail);
    reserved_ -= whole;
    blocks_[tail].size -= whole;
    if (blocks_[tail].size > Bytes(0)) {
      insert_free(tail);
    } else {
      entry->second = blocks_[tail].previous;
      blocks_[entry->second].next = kNone;
      unused_ids_.push_back(tail);
    }
    ++entry;
  }
}

void CachingAllocator::empty_cache() {
  if (options_.expandable_segments) {
    unmap_tails();
    return;
  }
  std::vector<BlockId> whole;
  for (const auto& [key, pool] : pools_) {
    for (const auto& [place, id] : pool) {
      if (blocks_[id].previous == kNone && blocks_[id].next == kNone) whole.push_back(id);
    }
  }
  for (const BlockId id : whole) release_segment(id);
}

void CachingAllocator::reset_peaks() {
  peak_allocated_ = allocated_;
  peak_reserved_ = reserved_;
}

}  // namespace plimsoll
