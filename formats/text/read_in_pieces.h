#pragma once

#include <functional>
#include <span>

#include "formats/text/open_file.h"

namespace plimsoll {

/// Gets a piece and how far behind the first byte it begins.
using TakePiece = std::function<void(Bytes at, std::span<const std::byte> piece)>;

/// Reads `count` bytes from `first` on in pieces of `piece` bytes (the last may be shorter), several at once by threads of its
/// own and past the page cache where the file system allows that. `take` is called by any of these threads, in any order.
/// Returns when all pieces were taken; what `take` or the drive throws is thrown here.
void read_in_pieces(const OpenFile& file, Bytes first, Bytes count, Bytes piece, const TakePiece& take);

}  // namespace plimsoll
