#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/strong_id.h"

namespace plimsoll {

/// One way to run a block so that its backward can follow.
struct ChainOption {
  double forward_seconds = 0;
  double backward_seconds = 0;
  Bytes saved;               ///< kept from its forward to its backward, its output among them
  Bytes forward_temporary;   ///< more, while the forward runs
  Bytes backward_temporary;  ///< more, while the backward runs
};

/// A block of a chain: it reads what the one before it wrote.
struct ChainBlock {
  Bytes input;                      ///< of its gradient too
  double forward_only_seconds = 0;  ///< of a forward that keeps nothing but the output
  Bytes forward_only_temporary;
  std::vector<ChainOption> options;  ///< at least one
};

/// Blocks in the order of the forward pass; the last one is the loss.
struct BlockChain {
  Bytes output;  ///< of the last block
  std::vector<ChainBlock> blocks;

  /// Bytes between block `index` - 1 and block `index`.
  [[nodiscard]] Bytes boundary(std::size_t index) const { return index < blocks.size() ? blocks[index].input : output; }
};

using ChainBlockId = StrongId<struct ChainBlockTag>;

/// What one entry of a chain's schedule does.
enum class ChainWork : std::uint8_t {
  kPass,        ///< a forward after which neither its input nor anything else of it is kept
  kCheckpoint,  ///< a forward after which its input is kept, until its backward
  kSave,        ///< a forward that keeps what its backward needs, and its input if that is not kept yet
  kBackward,
};

/// One entry of a schedule.
struct ChainOp {
  ChainWork work = ChainWork::kPass;
  ChainBlockId block;
  std::uint32_t option = 0;  ///< of kSave

  bool operator==(const ChainOp&) const = default;
};

using ChainSchedule = std::vector<ChainOp>;

/// "pass 3", "checkpoint 0", "save 4 by option 1", "backward 4".
std::string to_text(const ChainOp& op);

}  // namespace plimsoll
