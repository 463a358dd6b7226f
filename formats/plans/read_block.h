#pragma once

#include "core/plan/plan.h"
#include "formats/text/json_node.h"
#include "formats/plans/name_table.h"

namespace plimsoll {

/// What the instructions of a block refer to besides its slots and ports.
struct BlockSurroundings {
  const NameTable& queues;
  std::size_t kernels = 0;
};

/// A use that was written without its size; it means the rest of the buffer that the first call binds.
inline constexpr Bytes kRestOfBuffer{-1};

/// Reads a block of a plan. Uses without a size are left as kRestOfBuffer.
Block read_block(const JsonNode& node, const BlockSurroundings& surroundings);

/// Notes an "id" that is not the entry's position in its list; the key exists for people and may be left out.
void check_position(const JsonNode& node, std::size_t position);

}  // namespace plimsoll
