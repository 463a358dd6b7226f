#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

namespace plimsoll::kernels {

/// Elements from which an update's new values are more than caches hold: 12 bytes each of AdamW's in fp32.
inline constexpr std::int64_t kStreamedElements = std::int64_t{1} << 22;

/// Copies `n` elements to memory that nobody reads soon, past the caches: a store through them reads first what it overwrites.
/// What others are to see takes `finish_streams` on this thread. Copies as usual where the processor has no such stores.
template <typename T>
void stream_out(std::int64_t n, const T* from, T* to) {
  auto bytes = static_cast<std::size_t>(n) * sizeof(T);
  const auto* source = reinterpret_cast<const char*>(from);
  auto* target = reinterpret_cast<char*>(to);
#if defined(__SSE2__)
  constexpr std::size_t kWord = sizeof(__m128i);
  const std::size_t head = (kWord - reinterpret_cast<std::uintptr_t>(target) % kWord) % kWord;
  if (head < bytes) {
    std::memcpy(target, source, head);
    std::size_t at = head;
    for (; at + kWord <= bytes; at += kWord) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + at)));
    }
    source += at;
    target += at;
    bytes -= at;
  }
#endif
  std::memcpy(target, source, bytes);
}

/// What `stream_out` wrote is in memory before anything that this thread writes from now on.
inline void finish_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace plimsoll::kernels
