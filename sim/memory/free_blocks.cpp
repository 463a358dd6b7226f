#include "sim/memory/free_blocks.h"

#include <algorithm>

namespace plimsoll {

/// The first run whose last block is not before that one.
std::size_t FreeBlocks::run_of(const FreeBlock& block) const {
  const auto found = std::partition_point(runs_.begin(), runs_.end(), [&](const Run& run) { return run.last < block; });
  return static_cast<std::size_t>(found - runs_.begin());
}

FreeBlocks::Place FreeBlocks::find(const FreeBlock& block) const {
  const std::size_t run = run_of(block);
  if (run == runs_.size()) return {run, 0};
  const Blocks& blocks = pool_[runs_[run].of];
  const auto first = blocks.blocks.begin();
  const auto found = std::lower_bound(first, first + static_cast<std::ptrdiff_t>(blocks.count), block);
  const auto index = static_cast<std::size_t>(found - first);
  return index < blocks.count ? Place{run, index} : Place{run + 1, 0};  // what was last may have been taken out
}

FreeBlocks::Place FreeBlocks::after(Place place) const {
  if (place.index + 1 < pool_[runs_[place.run].of].count) return {place.run, place.index + 1};
  return {place.run + 1, 0};
}

std::uint32_t FreeBlocks::new_blocks() {
  if (unused_.empty()) {
    pool_.emplace_back();
    return static_cast<std::uint32_t>(pool_.size() - 1);
  }
  const std::uint32_t index = unused_.back();
  unused_.pop_back();
  pool_[index].count = 0;
  return index;
}

/// The upper half moves to a run of its own.
void FreeBlocks::split(std::size_t run) {
  const std::uint32_t index = new_blocks();
  Blocks& upper = pool_[index];
  Blocks& lower = pool_[runs_[run].of];
  const auto middle = lower.blocks.begin() + static_cast<std::ptrdiff_t>(lower.count / 2);
  const auto end = lower.blocks.begin() + static_cast<std::ptrdiff_t>(lower.count);
  std::copy(middle, end, upper.blocks.begin());
  upper.count = static_cast<std::size_t>(end - middle);
  lower.count -= upper.count;
  runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(run) + 1, {runs_[run].last, index});
  runs_[run].last = *(middle - 1);
}

void FreeBlocks::insert(const FreeBlock& block) {
  if (runs_.empty()) runs_.push_back({block, new_blocks()});
  std::size_t run = std::min(run_of(block), runs_.size() - 1);
  if (pool_[runs_[run].of].count == kMost) {
    split(run);
    if (runs_[run].last < block) ++run;
  }
  Blocks& blocks = pool_[runs_[run].of];
  const auto end = blocks.blocks.begin() + static_cast<std::ptrdiff_t>(blocks.count);
  const auto at = std::lower_bound(blocks.blocks.begin(), end, block);
  std::copy_backward(at, end, end + 1);
  *at = block;
  ++blocks.count;
  if (runs_[run].last < block) runs_[run].last = block;
}

void FreeBlocks::erase(Place place) {
  Blocks& blocks = pool_[runs_[place.run].of];
  const auto at = blocks.blocks.begin() + static_cast<std::ptrdiff_t>(place.index);
  std::copy(at + 1, blocks.blocks.begin() + static_cast<std::ptrdiff_t>(blocks.count), at);
  if (--blocks.count > 0) return;
  unused_.push_back(runs_[place.run].of);
  runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(place.run));
}

}  // namespace plimsoll
