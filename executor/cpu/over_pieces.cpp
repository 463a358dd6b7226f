#include "executor/cpu/over_pieces.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

namespace plimsoll {
namespace {

constexpr std::size_t kPiece = std::size_t{4} << 20;

}  // namespace

void over_pieces(std::size_t bytes, const std::function<void(std::size_t begin, std::size_t end)>& work) {
  if (bytes == 0) return;
  if (bytes <= kPiece) return work(0, bytes);
  const tbb::blocked_range<std::size_t> pieces(0, (bytes + kPiece - 1) / kPiece);
  tbb::parallel_for(pieces, [&](const tbb::blocked_range<std::size_t>& some) {
    work(some.begin() * kPiece, std::min(bytes, some.end() * kPiece));
  });
}

void copy_in_pieces(std::span<const std::byte> from, std::span<std::byte> to) {
  over_pieces(from.size(), [&](std::size_t begin, std::size_t end) { std::memcpy(to.data() + begin, from.data() + begin, end - begin); });
}

void zero_in_pieces(std::span<std::byte> memory) {
  over_pieces(memory.size(), [&](std::size_t begin, std::size_t end) { std::memset(memory.data() + begin, 0, end - begin); });
}

}  // namespace plimsoll
