#include "core/plan/block_chain.h"

#include <fmt/format.h>

namespace plimsoll {

std::string to_text(const ChainOp& op) {
  switch (op.work) {
    case ChainWork::kPass:
      return fmt::format("pass {}", op.block.index);
    case ChainWork::kCheckpoint:
      return fmt::format("checkpoint {}", op.block.index);
    case ChainWork::kSave:
      return fmt::format("save {} by option {}", op.block.index, op.option);
    case ChainWork::kBackward:
      break;
  }
  return fmt::format("backward {}", op.block.index);
}

}  // namespace plimsoll
