#pragma once

#include "core/plan/block_chain.h"

namespace plimsoll {

/// Schedules by rules that know nothing of a block's own time and bytes; each block is saved by its fastest option.

/// Every block is saved; nothing runs twice.
ChainSchedule keep_everything(const BlockChain& chain);

/// Inputs of every √n-th block are kept, and each stretch between them is saved when its backward is near: one more
/// forward of all but the last stretch. Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost",
/// 2016.
ChainSchedule square_root_segments(const BlockChain& chain);

/// Revolve: the fewest forwards of equal blocks with so many inputs kept at a time, the chain's own among them.
/// Griewank, Walther, "Algorithm 799: Revolve", 2000.
class Revolve {
 public:
  /// For at most `slots` inputs; fewer where the chain has fewer blocks. `chain` must outlive it.
  Revolve(const BlockChain& chain, std::size_t slots);

  [[nodiscard]] std::size_t most_slots() const { return slots_; }

  /// With so many inputs kept, or most_slots() where that is fewer.
  [[nodiscard]] ChainSchedule schedule(std::size_t slots) const;

 private:
  struct Cell {
    std::size_t forwards = 0;  ///< beside each block's last one
    std::size_t cut = 0;       ///< the block whose input is kept first; 0: none
  };

  [[nodiscard]] const Cell& at(std::size_t slots, std::size_t last) const {
    return cells_[slots * chain_.blocks.size() + last];
  }
  [[nodiscard]] Cell best(std::size_t slots, std::size_t last) const;
  void append(std::size_t first, std::size_t last, std::size_t slots, ChainSchedule& schedule) const;

  const BlockChain& chain_;
  std::size_t slots_;
  std::vector<Cell> cells_;  ///< by inputs kept, and the last of the blocks 0 …
};

}  // namespace plimsoll
