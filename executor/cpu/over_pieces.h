#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace plimsoll {

/// Calls `work(begin, end)` for pieces of [0, bytes) that together cover it, on all cores: one core alone faults pages in, zeroes and copies
/// at a fraction of what memory moves. Pieces begin at multiples of 4 MiB. The first exception of a piece is thrown again here.
void over_pieces(std::size_t bytes, const std::function<void(std::size_t begin, std::size_t end)>& work);

/// Both of one size, and apart.
void copy_in_pieces(std::span<const std::byte> from, std::span<std::byte> to);
void zero_in_pieces(std::span<std::byte> memory);

}  // namespace plimsoll
