#include "executor/cpu/published_weights.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "executor/cpu/over_pieces.h"
#include "executor/kernels/loops.h"

namespace plimsoll {
namespace {

constexpr std::size_t kPiece = 1024;

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

/// From front to back through a piece of its own, so that `to` may lie where `from` begins.
template <typename S>
void round_all(const std::byte* from, std::size_t elements, std::byte* to) {
  std::array<float, kPiece> wide;
  std::array<S, kPiece> rounded;
  for (std::size_t at = 0; at < elements; at += kPiece) {
    const std::size_t n = std::min(kPiece, elements - at);
    std::memcpy(wide.data(), from + at * sizeof(float), n * sizeof(float));
    conversions<S>().round(static_cast<std::int64_t>(n), wide.data(), rounded.data());
    std::memcpy(to + at * sizeof(S), rounded.data(), n * sizeof(S));
  }
}

void round_all(const std::byte* from, std::size_t elements, std::byte* to, DType type) {
  type == DType::kBf16 ? round_all<Bf16>(from, elements, to) : round_all<Fp16>(from, elements, to);
}

/// On all cores.
void round_apart(std::span<const std::byte> weights, std::span<std::byte> place, DType to) {
  const auto size = static_cast<std::size_t>(size_of(to));
  over_pieces(weights.size(), [&](std::size_t begin, std::size_t end) {
    round_all(weights.data() + begin, (end - begin) / sizeof(float), place.data() + begin / sizeof(float) * size, to);
  });
}

}  // namespace

void publish_weights(std::span<const std::byte> weights, DType from, std::span<std::byte> place, DType to) {
  const bool apart = !overlap(weights, place);
  if (from == to && apart) return copy_in_pieces(weights.first(place.size()), place);
  if (from == to) {
    std::memmove(place.data(), weights.data(), place.size());
    return;
  }
  if (apart) return round_apart(weights, place, to);
  const std::size_t elements = weights.size() / sizeof(float);
  auto* in_place = const_cast<std::byte*>(weights.data());
  round_all(in_place, elements, in_place, to);
  std::memmove(place.data(), in_place, elements * static_cast<std::size_t>(size_of(to)));
}

}  // namespace plimsoll
