#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "executor/kernels/loops.h"
#include "executor/kernels/thread_scratch.h"

// How kernels work on types of two bytes: values are widened to fp32 piece by piece, computed with, and rounded once, to
// nearest with ties to even, when they are stored. For fp32 and fp64 every function here hands the memory itself on, so one
// kernel serves all four types.
namespace plimsoll::kernels {

/// The type that a kernel computes in when its tensors are stored as S.
template <typename S>
using Arithmetic = std::conditional_t<std::is_floating_point_v<S>, S, float>;

/// Whether S is stored in fewer bytes than it is computed in.
template <typename S>
inline constexpr bool kIsHalf = !std::is_same_v<S, Arithmetic<S>>;

/// Elements that elementwise kernels widen at once: operands of 4 KiB lie on the stack and stay in the first cache.
inline constexpr std::int64_t kPiece = 1024;

/// Memory for one piece; nothing where none is needed.
template <typename S>
struct PieceScratch {
  Arithmetic<S> values[kIsHalf<S> ? kPiece : 1];
};

/// Room for `elements` on the calling thread; null where none is needed. The next call on this thread takes it back.
template <typename S>
Arithmetic<S>* row_scratch(std::int64_t elements) {
  if constexpr (kIsHalf<S>) return thread_scratch(elements);
  return nullptr;
}

/// Rows of `width` elements of the arithmetic's type, one behind the other, on the calling thread.
template <typename S>
class Rows {
 public:
  Rows(std::int64_t width, std::int64_t count) : width_(width), memory_(row_scratch<S>(width * count)) {}

  [[nodiscard]] Arithmetic<S>* at(std::int64_t row) const { return memory_ == nullptr ? nullptr : memory_ + row * width_; }

 private:
  std::int64_t width_;
  Arithmetic<S>* memory_;
};

/// `n` stored elements to compute with: widened into `scratch`, or where they are.
template <typename S>
const Arithmetic<S>* widened(std::int64_t n, const S* stored, [[maybe_unused]] Arithmetic<S>* scratch) {
  if constexpr (kIsHalf<S>) {
    conversions<S>().widen(n, stored, scratch);
    return scratch;
  } else {
    return stored;
  }
}

/// Where to compute what `store` then puts into `stored`; with `updates`, what is stored there stands in it.
template <typename S>
Arithmetic<S>* opened(std::int64_t n, S* stored, [[maybe_unused]] Arithmetic<S>* scratch, [[maybe_unused]] bool updates = false) {
  if constexpr (kIsHalf<S>) {
    if (updates) conversions<S>().widen(n, stored, scratch);
    return scratch;
  } else {
    return stored;
  }
}

/// Rounds what was computed in `opened` memory into its place.
template <typename S>
void store(std::int64_t n, [[maybe_unused]] const Arithmetic<S>* values, [[maybe_unused]] S* stored) {
  if constexpr (kIsHalf<S>) conversions<S>().round(n, values, stored);
}

/// Copies `n` stored elements into memory of the arithmetic's type.
template <typename S>
void widen_into(std::int64_t n, const S* stored, Arithmetic<S>* values) {
  if constexpr (kIsHalf<S>) {
    conversions<S>().widen(n, stored, values);
  } else {
    std::copy(stored, stored + n, values);
  }
}

/// Copies `n` computed elements into stored memory.
template <typename S>
void round_into(std::int64_t n, const Arithmetic<S>* values, S* stored) {
  if constexpr (kIsHalf<S>) {
    conversions<S>().round(n, values, stored);
  } else {
    std::copy(values, values + n, stored);
  }
}

/// Calls function(begin, size) for pieces of [begin, end): all at once where nothing is widened.
template <typename S, typename Function>
void for_pieces(std::int64_t begin, std::int64_t end, const Function& function) {
  if constexpr (kIsHalf<S>) {
    for (std::int64_t at = begin; at < end; at += kPiece) function(at, std::min(kPiece, end - at));
  } else {
    function(begin, end - begin);
  }
}

}  // namespace plimsoll::kernels
