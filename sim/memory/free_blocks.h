#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll {

/// A block that nobody uses.
struct FreeBlock {
  std::int64_t size = 0;
  std::int64_t address = 0;  ///< no two blocks' are the same
  std::uint32_t id = 0;

  friend bool operator<(const FreeBlock& a, const FreeBlock& b) {
    return a.size != b.size ? a.size < b.size : a.address < b.address;
  }
};

/// Free blocks by size and then address, in sorted runs of some dozens: a replay adds, finds and takes out millions, and a
/// tree's nodes lie all over memory.
class FreeBlocks {
 public:
  /// Points at a block until something is added or taken out.
  struct Place {
    std::size_t run = 0;
    std::size_t index = 0;
  };

  void insert(const FreeBlock& block);
  /// The smallest of at least that size, of these the lowest.
  [[nodiscard]] Place at_least(std::int64_t size) const { return find({.size = size, .address = kLowest}); }
  /// Of a block that is there.
  [[nodiscard]] Place place_of(const FreeBlock& block) const { return find(block); }
  [[nodiscard]] bool is_end(Place place) const { return place.run == runs_.size(); }
  [[nodiscard]] const FreeBlock& at(Place place) const { return pool_[runs_[place.run].of].blocks[place.index]; }
  [[nodiscard]] Place after(Place place) const;
  void erase(Place place);

  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const Run& run : runs_) {
      const Blocks& blocks = pool_[run.of];
      for (std::size_t i = 0; i < blocks.count; ++i) visit(blocks.blocks[i]);
    }
  }

 private:
  static constexpr std::int64_t kLowest = INT64_MIN;
  static constexpr std::size_t kMost = 64;

  struct Blocks {
    std::size_t count = 0;
    std::array<FreeBlock, kMost> blocks;
  };
  /// Runs hold what is at most their `last` (which need not be there any more) and more than that of the run before;
  /// none is empty.
  struct Run {
    FreeBlock last;
    std::uint32_t of = 0;  ///< in pool_
  };

  [[nodiscard]] std::size_t run_of(const FreeBlock& block) const;
  [[nodiscard]] Place find(const FreeBlock& block) const;
  [[nodiscard]] std::uint32_t new_blocks();
  void split(std::size_t run);

  std::vector<Run> runs_;
  std::vector<Blocks> pool_;
  std::vector<std::uint32_t> unused_;
};

}  // namespace plimsoll
