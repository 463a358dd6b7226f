#pragma once

#include <string>
#include <vector>

#include "formats/exporters/exported_training.h"
#include "formats/exporters/torch_blocks.h"

namespace plimsoll {

/// One kind of PyTorch's operators in a segment of blocks, in the order in which they run: whether each one's output is
/// kept.
struct KeptKind {
  std::string kind;  ///< "matmul", "attention", "norm", "activation"
  std::vector<bool> keep;
  Bytes bytes;  ///< that the plan keeps of their outputs
};

/// A segment of blocks that is computed again together.
struct KeptSegment {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool again = false;  ///< false: nothing of it is computed again
  std::vector<KeptKind> kinds;
  Bytes unspoken;  ///< that the plan keeps of operators that no kind stands for; they are computed again
};

/// The segments of a training whose blocks `blocks` calls, first to last.
std::vector<KeptSegment> kept_segments(const ExportedTraining& training, const TorchBlocks& blocks);

}  // namespace plimsoll
