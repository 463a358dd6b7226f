#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/planner/state_moves.h"

namespace plimsoll {

/// Memory through which bytes pass that cannot go straight: to and from drives, and where one move is in another's way.
struct StagingArea {
  std::uint32_t slots = 0;
  Bytes slot_bytes;  ///< whole storage blocks
};

/// Bytes [offset, offset + bytes) of a state, on one leg of their way.
struct MoveLeg {
  enum class Way : std::uint8_t {
    kStraight,  ///< from the old place to the new one
    kStage,     ///< from the old place into a slot
    kDeliver,   ///< from a slot to the new place
  };
  Way way = Way::kStraight;
  std::uint32_t move = 0;
  Bytes offset;
  Bytes bytes;
  std::uint32_t slot = 0;
};

/// What the sequencer needs to know of a memory.
struct MoveOptions {
  std::vector<bool> is_drive;  ///< by space
  Bytes largest_leg;           ///< a multiple of kStorageAlignment
};

/// An order of legs that brings every state to its place when they run one after another. The moves' places may overlap as
/// they like, as long as no two destinations do: a leg writes only what no later leg reads as a state's old bytes. Where
/// moves wait for each other in a circle, a piece of one steps aside into the staging area. Nothing when the area is too
/// small for that.
///
/// With byte granularity one piece of any size would do: when nothing can move, every byte that is wanted is also one that
/// is still to leave, so old and new bytes are in one-to-one correspondence and a piece that steps aside frees a chain that
/// ends at its own destination. Whole storage blocks blur that by a block at each end of a piece.
std::optional<std::vector<MoveLeg>> sequence_moves(std::span<const StateMove> moves, const StagingArea& staging,
                                                   const MoveOptions& options);

}  // namespace plimsoll
